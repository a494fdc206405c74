"""Copies of the photos that a file links to."""

import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from testimonials.core.data.identifiers import new_identifier
from testimonials.core.pictures.images import AVATAR, Image, ImageBusy, ImageRefused, read_image
from testimonials.core.public_addresses import Check
from testimonials.extensions import db
from testimonials.transfer.tables.fetching import PictureUnreachable, fetch_picture, is_website
from testimonials.transfer.tables.rows import NewTestimonial

AT_ONCE = 4


@dataclass
class CopiedPhotos:
    """Testimonials with copies in place of the links to their photos, if copying worked."""

    testimonials: list[NewTestimonial]
    images: dict[str, Image] = field(default_factory=dict)
    # The URL of each that was not copied, and the reason.
    problems: list[tuple[str, str]] = field(default_factory=list)

    def store(self) -> None:
        """Add the pictures to this transaction."""
        db.session.add_all(self.images.values())
        db.session.flush()


def copy_photos(found: Sequence[NewTestimonial], is_allowed: Check = is_website) -> CopiedPhotos:
    """Fetch the photos of testimonials, without any lock; one that fails stays a link."""
    urls = list(dict.fromkeys(filter(None, (each.columns["author_avatar"] for each in found))))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        contents = list(pool.map(lambda url: _fetch(url, is_allowed), urls))
    copied = CopiedPhotos([])
    ids: dict[str, str] = {}
    for url, content in zip(urls, contents, strict=True):
        try:
            if isinstance(content, PictureUnreachable):
                raise content
            image = read_image(io.BytesIO(content), AVATAR)
        except (PictureUnreachable, ImageRefused, ImageBusy) as error:
            copied.problems.append((url, str(error)))
            continue
        image.id = ids[url] = new_identifier()
        copied.images[url] = image
    for each in found:
        url = each.columns["author_avatar"]
        columns = {"author_avatar": None, "avatar_id": ids[url]} if url in ids else {}
        copied.testimonials.append(replace(each, columns=each.columns | columns))
    return copied


def _fetch(url: str, is_allowed: Check) -> bytes | PictureUnreachable:
    try:
        return fetch_picture(url, is_allowed)
    except PictureUnreachable as error:
        return error
