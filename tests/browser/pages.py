"""Going from one page to the next without acting on the one that is about to be replaced."""

import contextlib
from collections.abc import Iterator

from playwright.sync_api import Locator, Page


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
