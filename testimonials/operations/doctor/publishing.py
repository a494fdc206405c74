"""Checks of what is published, and of the host that serves it."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException

from testimonials.core import clock
from testimonials.core.clock import iso
from testimonials.core.data.leases import BackgroundJob
from testimonials.core.logs.scrubbing import scrub
from testimonials.core.urls import published_url
from testimonials.extensions import db
from testimonials.operations.doctor.findings import Finding
from testimonials.operations.doctor.network import TIMEOUT_SECONDS
from testimonials.operations.health import LONGEST_WAIT
from testimonials.publishing.progress import PUBLISH_JOB
from testimonials.publishing.publisher import MARKS
from testimonials.publishing.stores import open_store
from testimonials.settings.current import current_settings
from testimonials.widget.script.embedded import find_published_script, name_script

# Some website that shows a widget.
ORIGIN = "https://shop.example.com"
ALLOWED = "Access-Control-Allow-Origin"
MOST_BYTES = 100_000


def check_publishing() -> Iterator[Finding]:
    """Check that all is out, that the place can be read, and that the host serves it."""
    place = current_settings().publish_to
    if not place:
        return
    try:
        open_store(place).names(MARKS)
    except Exception as error:
        # Libraries of stores have errors of their own.
        reason = scrub(" ".join(str(error).split())[:200])
        yield Finding(
            f"PUBLISH_TO ({place}) can't be read: {reason}",
            "Check the folder's mode, or the bucket's name and the variables AWS_ACCESS_KEY_ID, "
            "AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL.",
        )
    job = db.session.get(BackgroundJob, PUBLISH_JOB)
    last = job.finished_at if job is not None else None
    if job is not None and job.error is not None:
        yield Finding(
            f"Publishing failed at {iso(job.failed_at or clock.now())}: {scrub(job.error)}",
            "It is tried again by itself; the log of `testimonials serve` has more.",
        )
    elif last is None or clock.now() - last > LONGEST_WAIT:
        since = f"since {iso(last)}" if last is not None else "yet"
        yield Finding(
            f"Not everything has been out {since}.",
            "Is `testimonials serve` running? After an upgrade, many projects take a while.",
        )
    yield from _check_host()


def _check_host() -> Iterator[Finding]:
    url = published_url(f"widget/{name_script()}")
    try:
        status, allowed, body = _ask(url)
        missing, _, _ = _ask(published_url("widget/this-file-is-not-there.json"))
    except (OSError, HTTPException, ValueError) as error:
        reason = " ".join(str(getattr(error, "reason", None) or error).split())[:200]
        yield Finding(
            f"PUBLISH_URL does not answer at {url}: {reason}",
            "Check DNS and the static host; docs/publishing.md has examples.",
        )
        return
    if status != 200 or body != find_published_script():
        found = "another file" if status == 200 else str(status)
        yield Finding(
            f"{url} answers with {found} instead of the script in PUBLISH_TO.",
            "Let the host serve what is in PUBLISH_TO. A CDN may keep the former file for a while.",
        )
    elif allowed not in ("*", ORIGIN):
        yield Finding(
            f"{url} can't be read by other websites: it has no Access-Control-Allow-Origin.",
            "Add the headers that docs/publishing.md names; a bucket needs CORS rules.",
        )
    if missing == 200:
        yield Finding(
            f"{published_url()} answers 200 for files that are not there, so widgets never ask the "
            "service.",
            "Let the host answer them with 404.",
        )


def _ask(url: str) -> tuple[int, str | None, bytes]:
    """Return status, the websites that may read the answer, and the answer."""
    headers = {"User-Agent": "testimonials-doctor", "Origin": ORIGIN}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - http(s), by the settings
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310
            return answer.status, answer.headers[ALLOWED], answer.read(MOST_BYTES)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers[ALLOWED], b""
