"""A cache of responses as bytes, each valid for a version of its data.

Each request reads the version from the database, so the next response shows every process's change.
"""

import gzip
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

# The key in `app.extensions` of the cache for pages of the API's list.
LIST_PAGES = "testimonials_pages"

# Status, headers, content.
Answer = tuple[str, list[tuple[str, str]], bytes]


@dataclass(frozen=True)
class Body:
    """The bytes of a response, plain and compressed."""

    version: int
    plain: bytes
    gzipped: bytes
    # By a hash of the plain bytes, since settings change them too.
    etag: str
    # Additional headers; for a page, all headers.
    headers: tuple[tuple[str, str], ...] = ()
    # The project's id, for a page or a script.
    owner: str = ""
    # Complete responses, by variant.
    answers: dict[str, Answer] = field(default_factory=dict, compare=False)


def make_body(version: int, plain: bytes, *, level: int, link: str = "") -> Body:
    digest = hashlib.sha256(plain).hexdigest()[:20]
    headers = (("Link", link),) if link else ()
    return Body(version, plain, gzip.compress(plain, level, mtime=0), f'W/"{digest}"', headers)


class VersionedCache:
    """A thread-safe cache of at most `max_bytes` that drops the least recently used bodies."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._bodies: OrderedDict[Hashable, Body] = OrderedDict()
        self._lock = threading.Lock()

    def get(
        self, key: Hashable, version: int, make: Callable[[], bytes | tuple[bytes, str]]
    ) -> Body:
        """Return the body of `key` at `version`; if it isn't cached, call `make`.

        `make` returns the bytes, or the bytes and a `Link` header. Read `version` before the data,
        so that a body may be newer than its version (and is made again), but never older.
        """
        body = self.peek(key)
        if body is not None and body.version == version:
            return body
        content = make()
        plain, link = content if isinstance(content, tuple) else (content, "")
        body = make_body(version, plain, level=6, link=link)
        self.put(key, body)
        return body

    def put(self, key: Hashable, body: Body) -> None:
        with self._lock:
            self._remove(key)
            self._bodies[key] = body
            self._bytes += _size(body)
            while self._bytes > self._max_bytes and self._bodies:
                self._remove(next(iter(self._bodies)))

    def peek(self, key: Hashable) -> Body | None:
        with self._lock:
            body = self._bodies.get(key)
            if body is not None:
                self._bodies.move_to_end(key)
            return body

    def _remove(self, key: Hashable) -> None:
        if (body := self._bodies.pop(key, None)) is not None:
            self._bytes -= _size(body)


def _size(body: Body) -> int:
    # 500 for the entry itself, or empty bodies would be free.
    return len(body.plain) + len(body.gzipped) + 500
