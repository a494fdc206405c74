"""Going from one page to the next without acting on the one that is about to be replaced."""

import contextlib
import itertools
import re
from collections.abc import Iterator

from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import Project, Site
from tests.support.servers import Received, wait_for

numbers = itertools.count(1)

CLIPBOARD = ["clipboard-read", "clipboard-write"]
# Two frames later, what was asked for has been painted, and what listens has been told.
FRAME = "requestAnimationFrame(() => "
PAINTED = f"new Promise(done => {FRAME}{FRAME}setTimeout(done))))"
# Adds up what moves by itself; `shifted()` is the sum once all so far was painted.
WATCH_SHIFTS = f"""(() => {{
  let sum = 0;
  const add = (list) => {{ for (const each of list) if (!each.hadRecentInput) sum += each.value; }};
  const observer = new PerformanceObserver((list) => add(list.getEntries()));
  observer.observe({{ type: 'layout-shift', buffered: true }});
  window.shifted = async () => {{ await {PAINTED}; add(observer.takeRecords()); return sum; }};
}})();
"""


@contextlib.contextmanager
def next_page(page: Page) -> Iterator[None]:
    """Wait until what is done inside has led to another page, and until its scripts have run.

    A click returns before the next page is there. What follows would meet the old page, which may
    look the same, or the new one before its scripts listen.
    """
    with page.expect_event("load"):
        yield


def follow(control: Locator) -> None:
    """Click a link or button that leads to another page, and wait for that page."""
    with next_page(control.page):
        control.click()


@contextlib.contextmanager
def held_back(page: Page, path: str) -> Iterator[None]:
    """Let what ends in this path come only after what is done inside, as on a slow line."""
    held: list[Route] = []
    pattern = re.compile(f"{re.escape(path)}$")
    page.route(pattern, lambda route: held.append(route))
    yield
    # Playwright calls handlers while it is asked for something, and not while this process sleeps.
    wait_for(lambda: page.title() is not None and held, what=path)
    held[0].continue_()
    page.unroute(pattern)


def open_form(page: Page) -> None:
    """Open all of a collection page's form, as who writes without stars and adds details does."""
    link = page.locator("[data-open]")
    if link.is_visible():
        link.click()
    details = page.locator("details:not([open]) > summary")
    if details.is_visible():
        details.click()


def send_testimonial(page: Page, project: Project, name: str) -> None:
    page.goto(project.page_url)
    open_form(page)
    page.get_by_label("Your words").fill(f"Words of {name}")
    page.get_by_label("Your name").fill(name)
    page.get_by_role("checkbox", name=re.compile("may show my words")).check()
    follow(page.get_by_role("button", name="Send my testimonial"))
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Thank you, {name.split()[0]}")


def mail_to(site: Site, email: str) -> Received:
    def find() -> Received | None:
        return next((mail for mail in site.sink.received if mail.recipients == [email]), None)

    found = wait_for(find, what=f"an email to {email}")
    assert isinstance(found, Received)
    return found


def link_in(mail: Received, words: str) -> str:
    """Return the link after these words of a mail."""
    found = re.search(rf"{words}\s+(http\S+)", mail.text)
    assert found, mail.text
    return found[1]
