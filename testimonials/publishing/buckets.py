"""Where published files go: a bucket of an S3-compatible store, by the extra `s3`.

Who we are and where the store is, obstore reads from the variables that all such tools know:
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL; or from the machine's role.
"""

import mimetypes
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from obstore.store import S3Store

# How many files are on their way at once: a bucket takes 10 to 50 ms for each.
AT_ONCE = 16
TIMEOUT = timedelta(seconds=10)
CHANGES = "public, no-cache"
NEVER_CHANGES = "public, max-age=31536000, immutable"
# Pictures, pinned scripts and static files: another content would have another name.
_FIXED = re.compile(r"\.webp$|/v1-[0-9a-f]+\.js$|^static/")


class BucketStore:
    """A bucket, or what is in it under a prefix; the address is ``s3://bucket/prefix``."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._opened: S3Store | None = None

    def names(self, folder: str) -> set[str]:
        """Return the names of the files directly in a folder."""
        found = self._bucket().list_with_delimiter(folder)["objects"]
        start = f"{folder}/"
        # Some stores list the folder itself.
        return {path[len(start) :] for each in found if (path := each["path"]).startswith(start)}

    def folders(self, folder: str) -> Iterator[str]:
        """Return the names of the folders directly in a folder."""
        found = self._bucket().list_with_delimiter(folder)["common_prefixes"]
        yield from (path.rstrip("/").rpartition("/")[2] for path in found)

    def write(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Write files, several at once; a bucket shows each only when it is whole."""
        bucket = self._bucket()

        def put(path: str, content: bytes) -> None:
            kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
            keep = NEVER_CHANGES if _FIXED.search(path) else CHANGES
            charset = "; charset=utf-8" if kind.startswith("text/") else ""
            headers = {"Content-Type": kind + charset, "Cache-Control": keep}
            bucket.put(path, content, attributes=headers, use_multipart=False)

        _do_all(put, files)

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files, if they are there."""
        _do_all(self._bucket().delete, ((path,) for path in paths))

    def remove_folder(self, folder: str) -> None:
        """Remove a folder with its files, if it is there."""
        self.remove(f"{folder}/{name}" for name in self.names(folder))

    def _bucket(self) -> "S3Store":
        # Only the process whose turn it is needs the library and its threads.
        if self._opened is None:
            from obstore.store import S3Store

            self._opened = S3Store.from_url(
                self._address,
                # Not every store takes a list of what is to go.
                config={"disable_bulk_delete": True},
                client_options={
                    "timeout": TIMEOUT,
                    "connect_timeout": TIMEOUT / 3,
                    "allow_http": True,
                },
                retry_config={"max_retries": 2, "retry_timeout": TIMEOUT},
            )
        return self._opened


def _do_all(work: Callable[..., None], values: Iterable[tuple[object, ...]]) -> None:
    """Do all of it, several at once; raise the first error."""
    with ThreadPoolExecutor(AT_ONCE, "bucket") as pool:
        for done in [pool.submit(work, *each) for each in values]:
            done.result()
