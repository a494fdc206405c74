"""Videos and voices on cards: nothing is loaded before a tap, and one plays at a time."""

from typing import Any

from playwright.sync_api import Locator, Page, expect

from testimonials.testimonials.media import recordings
from tests.browser.axe import find_rules
from tests.browser.conftest import Project, Site
from tests.browser.widget.conftest import HostPage
from tests.support.rows import add_recording, add_testimonial
from tests.testimonials.media.recorded import VIDEO, VOICE

PLAYS = "media => media.currentTime > 0.1 && !media.paused"
# The recordings are two seconds long, which may be over before a busy machine has looked.
SLOWLY = """const play = HTMLMediaElement.prototype.play;
HTMLMediaElement.prototype.play = function () {
  this.defaultPlaybackRate = this.playbackRate = 0.1;
  return play.call(this);
};
"""


def fill(site: Site, project: Project) -> None:
    """Add a voice, a video above it, and words above both."""
    kinds = {"voice": (VOICE, {"media_type": "audio/ogg"}), "video": (VIDEO, {})}
    for kind, (content, values) in kinds.items():
        words = {"text": "Warm buns." * (kind == "video"), "author_name": f"Theo {kind}"}
        row = add_testimonial(site.app, project.id, **words, is_rewarded=True)
        recording = add_recording(site.app, row, kind, **values | {"transcript": "I came for rye."})
        with site.app.app_context():
            recordings.media_folder().mkdir(exist_ok=True)
            recordings.path_of(recording).write_bytes(content)
    add_testimonial(site.app, project.id, text="Only words.")


def open_host(project: Project, host: HostPage, page: Page) -> Locator:
    snippet = project.call("GET", "/embed-snippet")
    shown = f'<h1>Host</h1><button id="other">Other</button>{snippet["container"]}'
    host.body = f"<main>{shown}</main>{snippet['script']}"
    page.goto(host.url)
    widget = page.locator('[data-testimonials-state="ready"]')
    expect(widget).to_be_visible()
    return widget


def wait_until(media: Locator, condition: str) -> None:
    """Wait until a condition holds for the one player."""
    handle = media.element_handle()
    assert handle is not None
    media.page.wait_for_function(condition, arg=handle)


def test_one_recording_plays_at_a_time_and_only_when_asked(site, open_page, host, project):
    fill(site, project)
    page = open_page("about:blank")
    page.add_init_script(SLOWLY)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    widget = open_host(project, host, page)
    video = widget.get_by_role("button", name="Play the video of Theo video, 0:58")
    voice = widget.get_by_role("button", name="Play the recording of Theo voice, 0:58")
    expect(voice).to_be_visible()
    assert [url for url in asked if "/media/recordings/" in url] == []
    assert find_rules(page) == []
    # All but what the snippet keeps free.
    cards = widget.locator(".tm")
    height = cards.evaluate("node => node.offsetHeight")
    # By keyboard, as a button.
    video.press(" ")
    film = widget.locator("video")
    wait_until(film, PLAYS)
    assert film.evaluate("node => node.getRootNode().activeElement === node")
    # The transcript is its captions.
    assert film.evaluate("node => node.textTracks[0].mode") == "showing"
    page.wait_for_function("node => node.textTracks[0].cues?.length", arg=film.element_handle())
    voice.click()
    wait_until(widget.locator("audio"), PLAYS)
    assert film.evaluate("node => node.paused")
    assert cards.evaluate("node => node.offsetHeight") == height
    # At its end the poster is back, with the focus; out of sight, it pauses.
    widget.locator("audio").evaluate("node => { node.playbackRate = 1 }")
    expect(widget.locator("audio")).to_have_count(0)
    expect(voice).to_be_focused()
    film.evaluate(
        "node => { node.currentTime = 0; node.play().catch(() => {}); document.body.style.paddingTop = '9000px'; scrollTo(0, 0); }"
    )
    wait_until(film, "media => media.paused")


def test_what_moves_stands_still_while_a_recording_plays(site, open_page, host, project):
    fill(site, project)
    project.call("PATCH", "/widget-config", {"layout": "carousel", "animation": "horizontal"})
    page = open_page("about:blank", reduced_motion="no-preference")
    page.add_init_script(SLOWLY)
    page.set_viewport_size({"width": 500, "height": 700})
    widget = open_host(project, host, page)
    states = "node => new Set(node.shadowRoot.getAnimations().map(each => each.playState))"
    moves = f"node => ({states})(node).has('running')"
    page.wait_for_function(moves, arg=widget.element_handle())
    # Also on a copy, whose original is out of sight.
    copy = widget.locator("[inert] .play").first
    # In one step, since late fonts have copies made anew.
    widget.evaluate("""({ shadowRoot: root }) => {
      const { x, y } = root.querySelector('[inert] .play').getBoundingClientRect();
      root.querySelector('.view').dispatchEvent(new MouseEvent('click', { clientX: x + 9, clientY: y + 9 }));
    }""")
    media = widget.locator("video, audio")
    wait_until(media, PLAYS)
    page.locator("#other").click()
    page.mouse.move(0, 0)
    assert not widget.evaluate(moves)
    media.evaluate("node => node.pause()")
    page.wait_for_function(moves, arg=widget.element_handle())
    # Copies that are made anew have posters.
    copy.evaluate("node => { window.former = node }")
    page.set_viewport_size({"width": 900, "height": 700})
    page.wait_for_function("() => !former.isConnected")
    expect(widget.locator("[inert] .play:not([hidden])").first).to_be_attached()
    expect(media).to_have_count(1)


def test_where_a_page_forbids_it_the_recording_has_a_page_of_its_own(
    site, browser, open_page, host
):
    project = site.create_project()
    fill(site, project)
    # What the browser says of the policy is expected here.
    context = browser.new_context()
    page = context.new_page()
    host.policy = f"default-src 'self' 'unsafe-inline' data: {site.url}; media-src 'none'"
    widget = open_host(project, host, page)
    widget.get_by_role("button", name="Play the video").click()
    link = widget.get_by_role("link", name="It can’t be played here. Open its page")
    expect(link).to_be_focused()
    address = link.get_attribute("href")
    context.close()
    assert address
    own = open_page("about:blank")
    own.add_init_script(SLOWLY)
    own.goto(address)
    assert own.locator("video").evaluate("node => [node.preload, node.controls]") == ["none", True]
    own.locator("video").evaluate("node => node.play()")
    wait_until(own.locator("video"), PLAYS)
    # The wall links there, and plays where it can.
    wall = own
    wall.goto(f"{site.url}/{project.slug}/wall")
    wall.get_by_role("button", name="Play the video").click()
    wait_until(wall.locator("video"), PLAYS)
    assert find_rules(wall) == []
    still: Any = open_page(f"{site.url}/{project.slug}/wall", java_script_enabled=False)
    expect(still.get_by_role("link", name="Play the video")).to_have_attribute("href", address)
