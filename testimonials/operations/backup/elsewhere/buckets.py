"""A bucket of an S3-compatible store as a place for backups, by the extra `s3`.

obstore reads who we are from AWS_ACCESS_KEY_ID and its like, as it does for what is published.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from testimonials.core.logs.scrubbing import scrub
from testimonials.operations.backup.kept import KeptBackup, read_time, sort_kept

if TYPE_CHECKING:
    from obstore.store import S3Store

# What is on its way at once, and in memory.
PART = 8 * 1024 * 1024
AT_ONCE = 3
# A store takes at most 10,000 parts.
MOST_PARTS = 9000
# For one part on a slow line, and for a question.
PART_TIMEOUT = timedelta(minutes=5)
TIMEOUT = timedelta(seconds=15)
MOST_REASON = 300


class PlaceFailed(Exception):
    """A place for backups can't be used; the message says why."""


class NotThere(PlaceFailed):
    """There is no such file."""


class BucketPlace:
    """A bucket, or what is directly under a prefix in it; the address is ``s3://bucket/prefix``."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._opened: dict[timedelta, S3Store] = {}

    def list_backups(self) -> list[KeptBackup]:
        """Return the backups that are there, newest first."""
        with _told():
            objects = self._bucket().list_with_delimiter()["objects"]
        sizes = {each["path"].rpartition("/")[2]: each["size"] for each in objects}
        times = {name: time for name in sizes if (time := read_time(name)) is not None}
        return sort_kept(KeptBackup(name, sizes[name], time) for name, time in times.items())

    def write(self, name: str, chunks: Iterable[bytes], size: int) -> None:
        """Write a file of about `size` bytes, which is there only when it is whole.

        What `chunks` raises ends the upload.
        """
        sent = 0

        def count() -> Iterator[bytes]:
            nonlocal sent
            for chunk in chunks:
                sent += len(chunk)
                yield chunk

        with _told():
            part = max(PART, size // MOST_PARTS)
            bucket = self._bucket(PART_TIMEOUT)
            bucket.put(name, count(), use_multipart=True, chunk_size=part, max_concurrency=AT_ONCE)
            if (there := self._bucket().head(name)["size"]) != sent:
                self._bucket().delete(name)
                raise PlaceFailed(f"{sent} bytes were sent, and {there} arrived")

    def read(self, name: str) -> Iterator[bytes]:
        """Return the content of a file, in parts."""
        with _told():
            size = self._bucket().head(name)["size"]
        for start in range(0, size, PART):
            with _told():
                end = min(start + PART, size)
                found = self._bucket(PART_TIMEOUT).get_range(name, start=start, end=end)
            yield bytes(found)

    def remove(self, name: str) -> None:
        """Remove a file."""
        with _told():
            self._bucket().delete(name)

    def _bucket(self, timeout: timedelta = TIMEOUT) -> "S3Store":
        # Only a process that copies needs the library and its threads.
        if timeout not in self._opened:
            from obstore.store import S3Store

            self._opened[timeout] = S3Store.from_url(
                self._address,
                config={"disable_bulk_delete": True},
                client_options={
                    "timeout": timeout,
                    "connect_timeout": TIMEOUT,
                    "allow_http": True,
                },
                retry_config={"max_retries": 3, "retry_timeout": timedelta(minutes=2)},
            )
        return self._opened[timeout]


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Turn what the library raises into a sentence."""
    try:
        yield
    except FileNotFoundError:
        raise NotThere("it is not there") from None
    except Exception as error:
        if not type(error).__module__.startswith("obstore"):
            raise
        text = str(error).partition("\n\nDebug")[0]
        if found := re.search(r"<Code>(.*?)</Code>.*?<Message>(.*?)</Message>", text, re.DOTALL):
            text = f"{found[1]}: {found[2]}"
        raise PlaceFailed(scrub(" ".join(text.split()))[:MOST_REASON]) from None
