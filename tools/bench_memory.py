"""`scripts/bench memory`: how much private memory a worker has after it has shown every page.

The script opens each page that is linked, reads each resource, sends each form that destroys
nothing, and waits. Memory that is shared with other processes, such as the code of libraries, is
not counted. Nothing here passes or fails.
"""

import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
from flask import Flask

from testimonials import create_app
from testimonials.auth.accounts import claim_account
from testimonials.auth.models import Account
from testimonials.auth.sessions import start_session
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.late import read_routes
from testimonials.core.settings.table import load_settings
from tests.attacks.forms import Field, Form, crawl
from tests.conftest import PASSWORD
from tests.support.process import Service, start_service

SLUG = "memory"
# The pages to begin with; those of the dashboard are found by their links.
STARTS = (
    *("/dashboard", "/docs", "/help", "/signup", "/forgot", "/claim", "/login"),
    *(f"/{SLUG}", f"/{SLUG}/wall", f"/{SLUG}/thanks", f"/{SLUG}/report"),
)
# Forms that would end the visit.
ENDING = re.compile("logout|/delete$|/deletion|/end$|/sessions|/leave$|/switch$|replace|/live$")
# Long enough for the jobs of each minute, and for the background work after a change.
REST_SECONDS = 65


class Browser:
    """Follows links for `crawl`, and counts the statuses of the answers."""

    def __init__(self, service: Service, headers: dict[str, str]) -> None:
        self._client = httpx.Client(base_url=service.url, headers=headers, timeout=60)
        self.statuses: Counter[int] = Counter()

    def get(self, address: str) -> Any:
        return self.note(self._client.get(address))

    def send(self, form: Form) -> None:
        """Send a form, filled in like by somebody who sees it for the first time."""
        values = form.fill(_write)
        files = {name: (it[1], it[0]) for name, it in values.items() if isinstance(it, tuple)}
        data = {name: it for name, it in values.items() if name not in files}
        self.note(self._client.request(form.method, form.path, data=data, files=files or None))

    def note(self, answer: httpx.Response) -> Any:
        self.statuses[answer.status_code] += 1
        answer.mimetype = answer.headers.get("Content-Type", "").partition(";")[0]
        return answer


def _write(each: Field) -> str:
    words = {"email": "maya@example.com", "author_name": "Maya", "password": PASSWORD}
    return words.get(each.name, "Words" if each.kind == "textarea" else "")


def main() -> None:
    """Use a service, and print the private memory of its worker before and after."""
    folder = Path(tempfile.mkdtemp(prefix="testimonials-memory-"))
    service = start_service(folder, (), {"log_level": "error", "min_form_seconds": "0"})
    try:
        time.sleep(REST_SECONDS)
        report("after a start", service)
        print(f"{dict(use_everything(service, folder))} answers")
        time.sleep(REST_SECONDS)
        report("after every page", service)
    finally:
        service.kill()
        shutil.rmtree(folder, ignore_errors=True)


def use_everything(service: Service, folder: Path) -> Counter[int]:
    """Open every page, read every resource, and send each form; return the statuses."""
    key = service.sign_up()
    project = service.make_project(key, slug=SLUG, skipDemoTestimonials=False)
    app = create_app(load_settings({}, {"instance_path": str(folder)}))
    owner = Browser(service, {"Origin": service.url, "Cookie": sign_in(app, key)})
    stranger = Browser(service, {"Origin": service.url})
    forms = [(owner, each) for each in crawl(owner, STARTS)]
    forms += [(stranger, each) for each in crawl(stranger, STARTS)]
    read_all(Browser(service, key), {"project_id": project, "slug": SLUG})
    for browser, form in forms:
        if form.method == "POST" and not ENDING.search(form.path):
            browser.send(form)
    # What the forms have created has pages too.
    crawl(owner, STARTS)
    read_all(Browser(service, key), {"project_id": project, "slug": SLUG})
    return owner.statuses + stranger.statuses


def sign_in(app: Flask, key: dict[str, str]) -> str:
    """Claim an account without its mail; return the cookie of a session."""
    with app.app_context(), write():
        account = db.session.get_one(Account, key["x-service-account-id"])
        claim_account(account, "none")
        return f"testimonials={start_session(account, 'bench')}"


def read_all(browser: Browser, ids: dict[str, str]) -> None:
    """Get each URL that needs no ids other than these."""
    for route in read_routes():
        path = re.sub(r"<(\w+)>", lambda found: ids.get(found[1], found[0]), route.rule)
        if route.method == "GET" and "<" not in path:
            browser.get(path)


def report(name: str, service: Service) -> None:
    found = read_private(service.workers[0])
    parts = ", ".join(f"{kind} {size:.1f}" for kind, size in sorted(found.items()))
    print(f"{name}: {sum(found.values()):.1f} MB of its own: {parts}", flush=True)


def read_private(pid: int) -> Counter[str]:
    """Return the private megabytes of a process: in its heap, anonymous, and in mapped files."""
    found: Counter[str] = Counter()
    kind = ""
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        first, *rest = line.split()
        if "-" in first:
            kind = _name_kind(rest[4:])
        elif first in ("Private_Clean:", "Private_Dirty:"):
            found[kind] += int(rest[0]) / 1024
    return found


def _name_kind(path: Iterable[str]) -> str:
    name = "".join(path)
    return {"[heap]": "heap", "": "anonymous", "[stack]": "anonymous"}.get(name, "files")


if __name__ == "__main__":
    main()
