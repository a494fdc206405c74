"""Copies of the photos that a file links to, without opening a way into the private network.

Only http(s) on its usual ports, only addresses of the public internet, each redirect checked again.
"""

import io
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urljoin

from testimonials.core.db.identifiers import new_identifier
from testimonials.core.http_client import (
    PORTS,
    AddressRefused,
    Answer,
    Check,
    UrlRefused,
    ask,
    is_public,
)
from testimonials.core.images.uploads import AVATAR, Image, ImageBusy, ImageRefused, read_image

AT_ONCE = 4
SECONDS = 10.0
REDIRECTS = 3
HEADERS = {"Accept": "image/*", "User-Agent": "testimonials"}

# The URL of each photo that was not copied, and the reason.
Problems = list[tuple[str, str]]


class PictureUnreachable(Exception):
    """The picture can't be fetched; the message says why."""


def is_website(address: str, port: int) -> bool:
    """Return whether an address belongs to the public internet and the port to the web."""
    return port in PORTS.values() and is_public(address)


def copy_photos(
    found: Sequence[str], is_allowed: Check = is_website
) -> tuple[dict[str, Image], Problems]:
    """Return copies of the pictures at these addresses, and why others have none.

    Takes no lock.
    """

    def fetch(url: str) -> bytes | PictureUnreachable:
        try:
            return fetch_picture(url, is_allowed)
        except PictureUnreachable as error:
            return error

    urls = list(dict.fromkeys(found))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        contents = list(pool.map(fetch, urls))
    photos, problems = {}, []
    for url, content in zip(urls, contents, strict=True):
        try:
            if isinstance(content, PictureUnreachable):
                raise content
            photos[url] = read_image(io.BytesIO(content), AVATAR)
            photos[url].id = new_identifier()
        except (PictureUnreachable, ImageRefused, ImageBusy) as error:
            problems.append((url, str(error)))
    return photos, problems


def fetch_picture(url: str, is_allowed: Check = is_website, seconds: float = SECONDS) -> bytes:
    """Return the bytes at an address; raise `PictureUnreachable`."""
    for _turn in range(REDIRECTS + 1):
        try:
            answer = ask(url, seconds, AVATAR.max_bytes + 1, is_allowed, headers=HEADERS)
            content, location = _read(answer)
            if location is None:
                return content
            url = urljoin(url, location)
        except (UrlRefused, ValueError):
            raise PictureUnreachable("It is not a plain http:// or https:// URL.") from None
        except socket.gaierror:
            raise PictureUnreachable("There is no such website.") from None
        except AddressRefused:
            raise PictureUnreachable("It leads to a private network.") from None
        except OSError as error:
            name = type(error).__name__
            raise PictureUnreachable(f"It can’t be fetched ({name}).") from None
    raise PictureUnreachable("It redirects too often.")


def _read(answer: Answer) -> tuple[bytes, str | None]:
    """Return the content, or the target of a redirect."""
    location = answer.headers["Location"]
    if 300 <= answer.status < 400 and location:
        return b"", location
    if answer.status != 200:
        raise PictureUnreachable(f"Its server answered {answer.status}.")
    if len(answer.content) > AVATAR.max_bytes:
        raise PictureUnreachable("It is too large.")
    if not answer.is_complete:
        raise PictureUnreachable("It took too long.")
    return answer.content, None
