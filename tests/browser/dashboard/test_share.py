"""The Share page, as a person uses it."""

import base64

import pytest
import segno
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.pages import CLIPBOARD, follow
from tests.support.servers import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.process]

WIDE = {"width": 1280, "height": 860}


def open_share(site: Site, open_page: OpenPage, **options: object) -> tuple[Project, Page]:
    """Make a project and open its Share page."""
    project = site.create_project(skipDemoTestimonials=False)
    page = open_page(f"{site.url}/", **options)
    project.sign_in(page, "/share")
    expect(page.get_by_role("heading", level=1, name="Share")).to_be_visible()
    return project, page


def expect_copied(page: Page, words: str) -> None:
    """Wait until the clipboard holds `words`, which are there a while after the press."""
    page.wait_for_function(
        "async words => await navigator.clipboard.readText() === words", arg=words
    )


def test_link_and_message_can_be_copied(site: Site, open_page: OpenPage) -> None:
    project, page = open_share(site, open_page, permissions=CLIPBOARD, viewport=WIDE)
    page.get_by_role("button", name="Copy link").click()
    expect_copied(page, project.page_url)
    page.get_by_label("Message to customers").fill("Only typed, not reloaded")
    page.locator("[data-copy]").filter(has_text="Copy message").click()
    expect_copied(page, "Only typed, not reloaded")


def test_the_message_saves_itself(site: Site, open_page: OpenPage) -> None:
    project, page = open_share(site, open_page)
    field = page.get_by_label("Message to customers")
    field.fill("Grüße & mehr\nzwei Zeilen")
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    href = page.get_by_role("link", name="Open in email").get_attribute("href") or ""
    assert href.endswith("&body=Gr%C3%BC%C3%9Fe%20%26%20mehr%0D%0Azwei%20Zeilen")
    # Leaving at once loses nothing.
    field.fill("Left in a hurry")
    follow(page.get_by_role("link", name="Settings"))
    wait_for(
        lambda: "Left in a hurry" in page.request.get(project.dashboard + "/share").text(),
        what="it",
    )
    page.go_back()
    expect(field).to_have_value("Left in a hurry")
    page.context.clear_cookies()
    field.fill("Written signed out")
    expect(page.get_by_text("You are signed out")).to_be_visible()
    expect(field).to_have_value("Written signed out")


def test_the_code_in_the_page_is_the_links(site: Site, open_page: OpenPage) -> None:
    project, page = open_share(site, open_page, color_scheme="dark", device_scale_factor=4)
    picture = page.locator("svg.qr")
    expected = segno.make_qr(project.page_url, error="m", boost_error=False)
    side = expected.symbol_size(border=4)[0]
    # Read off the screen, module by module: what stands in the page is what a camera sees.
    shown = page.evaluate(
        """async ([data, side]) => {
          const image = new Image();
          image.src = `data:image/png;base64,${data}`;
          await image.decode();
          const canvas = document.createElement('canvas');
          [canvas.width, canvas.height] = [image.width, image.height];
          const pen = canvas.getContext('2d', { willReadFrequently: true });
          pen.drawImage(image, 0, 0);
          const at = (n) => Math.floor((n + .5) * image.width / side);
          return Array.from({ length: side }, (_, y) => Array.from({ length: side },
            (_, x) => Number(pen.getImageData(at(x), at(y), 1, 1).data[0] < 128)));
        }""",
        [base64.b64encode(picture.screenshot()).decode(), side],
    )
    assert shown == [list(row) for row in expected.matrix_iter(border=4)]
    with page.expect_download() as download:
        page.get_by_role("link", name="QR code, SVG").click()
    assert download.value.suggested_filename == f"{project.slug}-qr.svg"
