"""The plugin, and oEmbed, in Debian's own WordPress."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Project, Site
from tests.browser.pages import follow
from tests.browser.wordpress import PASSWORD, PLUGIN, WordPress, start_wordpress
from tests.support.servers import memory_folder, wait_for

MAIN = "testimonials-widget/testimonials-widget.php"


@pytest.fixture
def wordpress(site: Site) -> Iterator[WordPress]:
    port = urlsplit(site.url).port or 80
    with memory_folder() as folder, start_wordpress(Path(folder), port) as started:
        yield started
        assert started.complaints == ""


def publish(wordpress: WordPress, content: str) -> str:
    """Publish a post; return its address."""
    values = {"post_status": "publish", "post_title": "Words", "post_content": content}
    code = f"$post = json_decode({json.dumps(json.dumps(values))!r}, true);"
    return wordpress.run(
        f"{code} $id = wp_insert_post(wp_slash(json_decode($post, true)));"
        "echo home_url('/?p=' . $id);"
    )


def expect_cards(page: Page, number: int) -> None:
    expect(page.locator('[data-testimonials-state="ready"]')).to_be_visible()
    expect(page.locator("[data-testimonials-state] [part~=card]")).to_have_count(number)


def make_project(site: Site) -> Project:
    project = site.create_project()
    for number in range(3):
        text = f"No. {number}. " + "Words that go on. " * 12
        project.call("POST", "/testimonials", {"authorName": "Maya", "text": text, "rating": 5})
    return project


def test_the_plugin_and_oembed(site, wordpress, open_page):
    project = make_project(site)
    for file in PLUGIN.glob("*.php"):
        subprocess.run(["php", "-l", file], check=True, capture_output=True, timeout=60)
    wordpress.run(f"activate_plugin('{MAIN}');")
    shortcode = f'[testimonials_widget project="{project.id}" min="20"]'
    # Before an administrator has said whose script may run, none does.
    empty = publish(wordpress, shortcode)
    assert "testimonials" not in open_page(empty).content().lower().replace(shortcode, "")

    page = open_page(f"{wordpress.url}/wp-login.php")
    # Its pages ask others for pictures, whom a test doesn't ask.
    page.route(
        lambda url: urlsplit(url).hostname not in ("localhost", "127.0.0.1"),
        lambda route: route.fulfill(body=""),
    )
    page.get_by_label("Username or Email Address").fill("owner")
    page.locator("#user_pass").fill(PASSWORD)
    follow(page.get_by_role("button", name="Log In"))
    page.goto(f"{wordpress.url}/wp-admin/options-general.php")
    page.get_by_label("Testimonials service").fill(f"{site.url}/dashboard/")
    follow(page.get_by_role("button", name="Save Changes"))
    expect(page.get_by_label("Testimonials service")).to_have_value(site.url)

    for content in (
        shortcode,
        f'<!-- wp:testimonials-widget/testimonials {{"project":"{project.id}"}} /-->',
    ):
        seen = open_page(publish(wordpress, content))
        expect_cards(seen, 3)
        container = seen.locator("[data-testimonials-project]")
        assert re.match("width:100%;.*--tm-reserve", container.get_attribute("style") or "")
        assert seen.locator("script[src*='/widget/v1.js']").count() == 1
    hostile = publish(
        wordpress,
        f'[testimonials_widget project="{project.id}" tag=\'"><img src=x onerror=alert(1)>\']'
        "[testimonials_widget project='https://elsewhere.example/widget/x']",
    )
    attacked = open_page(hostile)
    assert attacked.locator("img[onerror]").count() == 0
    expect(attacked.locator("[data-testimonials-state]")).to_have_count(1)

    page.goto(f"{wordpress.url}/wp-admin/post-new.php")
    page.evaluate("""wp.data.dispatch('core/edit-post').toggleFeature('welcomeGuide')""")
    page.evaluate(
        "wp.data.dispatch('core/block-editor').insertBlock("
        "wp.blocks.createBlock('testimonials-widget/testimonials'))"
    )
    page.get_by_label("Project id, or the widget’s address").first.fill(
        f"{site.url}/widget/{project.id}"
    )
    expect(
        page.frame_locator("iframe[title=Testimonials]").locator("[part~=card]").first
    ).to_be_visible()

    embedded = open_page(publish(wordpress, f"{project.page_url}/wall"))
    outside = embedded.locator("iframe.wp-embedded-content")
    frame = outside.content_frame
    expect(outside).to_have_attribute("sandbox", "allow-scripts")
    expect(frame.locator('[data-testimonials-state="ready"]')).to_be_visible()
    # It stands as high as it is, and follows.
    for width in (600, 300):
        outside.evaluate("(frame, width) => { frame.width = width; }", width)

        def fits() -> bool:
            height = embedded.frames[1].evaluate("document.body.offsetHeight")
            return bool(outside.evaluate("frame => +frame.height") == min(1000, max(200, height)))

        wait_for(fits, what="a frame as high as its content")
    expect(embedded.locator("blockquote")).to_be_hidden()
    # There are no windows in a sandbox, so a link is WordPress's to follow.
    frame.get_by_role("link", name="Share your experience").click()
    expect(embedded).to_have_url(project.page_url)
    option = "var_export(get_option('testimonials_widget_service'));"
    assert wordpress.run(option) == f"'{site.url}'"
    wordpress.run(f"deactivate_plugins('{MAIN}'); uninstall_plugin('{MAIN}');")
    assert wordpress.run(option) == "false"
