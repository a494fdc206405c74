"""The widget as others embed it: WordPress by oEmbed, React and Vue by the package."""

import json
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage, Site
from tests.browser.widget.test_snippet_on_another_origin import HostPage, host
from tests.support.servers import wait_for

__all__ = ["host"]
pytestmark = [pytest.mark.browser, pytest.mark.process]

# What WordPress makes of a stranger's oEmbed, and how its wp-embed.js listens.
WORDPRESS = """<script>
addEventListener('message', ({ data, source }) => {
  const frame = document.querySelector(`iframe[data-secret="${data.secret}"]`);
  if (source !== frame?.contentWindow) return;
  if (data.message === 'height') frame.height = Math.min(1000, Math.max(200, data.value));
  if (data.message === 'link') document.title = data.value;
});
</script>"""


def test_wordpress_frames_it_in_a_sandbox(site: Site, open_page: OpenPage, host: HostPage) -> None:
    project = site.create_project()
    for number in range(3):
        text = f"No. {number}. " + "Words that go on. " * 12
        project.call("POST", "/testimonials", {"authorName": "Maya", "text": text, "rating": 5})
    page = open_page(f"{project.page_url}/wall")
    link = page.locator('link[type="application/json+oembed"]').get_attribute("href") or ""
    assert link.startswith(site.url)
    address = urlsplit(link)
    answer = json.loads(site.service.call("GET", f"{address.path}?{address.query}").body)
    source = f'src="{site.url}/widget/{project.id}'
    assert source in answer["html"]
    host.body = WORDPRESS + answer["html"].replace(
        "<iframe",
        '<iframe class="wp-embedded-content" sandbox="allow-scripts" data-secret="a1B2c3D4e5"',
    ).replace(source, f"{source}#?secret=a1B2c3D4e5")
    page = open_page(host.url)
    frame = page.frame_locator("iframe")
    expect(frame.locator('[data-testimonials-state="ready"]')).to_be_visible()
    expect(frame.locator(".card").filter(visible=True)).to_have_count(3)
    # It stands as high as it is, and follows.
    outside = page.locator("iframe")
    for width in (640, 300):
        outside.evaluate("(frame, width) => { frame.width = width; }", width)

        def fits() -> bool:
            height = page.frames[1].evaluate("document.body.offsetHeight")
            return bool(outside.evaluate("frame => +frame.height") == min(1000, max(200, height)))

        wait_for(fits, what="a frame as high as its content")
    # There are no windows in a sandbox, so a link is WordPress's to follow.
    frame.get_by_role("link", name="Share your experience").click()
    expect(page).to_have_title(project.page_url)
