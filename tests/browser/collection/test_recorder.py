"""Recording on the collection page, with a camera that Chromium makes up."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.axe import find_violations
from tests.browser.conftest import FAKE_CAMERA, HEADLESS, Project, Site
from tests.browser.pages import follow
from tests.support.rows import change_project
from tests.testimonials.media.recorded import FILES
from tools.journey import CHROMIUM_FLAGS

PHONE = {"viewport": {"width": 360, "height": 680}, "has_touch": True}
DESIGN = {"video": True, "voice": True, "prompts": ["What did you come for?", "What changed?"]}


@pytest.fixture
def project(site: Site) -> Project:
    """A project whose page takes recordings."""
    made = site.create_project()
    config = {"collectFields": {"rating": False}}
    change_project(site.app, made.id, page_design=DESIGN, page_config=config)
    return made


def record(page: Page, kind: str = "Turn on the camera") -> None:
    """Record for a second, with the keyboard once the camera is on, and use it."""
    page.get_by_role("button", name=re.compile("^Record a video")).click()
    page.get_by_role("button", name=kind).click()
    recorder = page.get_by_role("dialog", name="Recorder")
    expect(recorder.get_by_text("First question, take your time")).to_be_visible()
    expect(recorder.get_by_role("button", name="Record", exact=True)).to_be_focused()
    page.keyboard.press("Space")
    expect(recorder.get_by_text("Get ready")).to_be_visible()
    stop = recorder.get_by_role("button", name="Stop")
    expect(stop).to_be_focused()
    recorder.get_by_role("button", name="Next question").click()
    expect(recorder.get_by_role("status")).to_have_text("What changed?")
    # No second stands for long enough to be seen for certain, but some of them is.
    expect(recorder.locator("[data-time]")).to_have_text(re.compile("[1-9]"))
    page.keyboard.press("Escape")
    expect(recorder.get_by_role("button", name="Play")).to_be_focused()
    assert find_violations(page) == []
    recorder.get_by_role("button", name=re.compile("^Use this")).click()
    expect(page.get_by_text(re.compile("^Your (video|recording)$"))).to_be_focused()


def sign(page: Page) -> None:
    page.get_by_label("Your name").fill("Theo Brandt")
    page.get_by_role("checkbox", name=re.compile("may show my video, voice, words")).check()


def plays(page: Page, url: str) -> float:
    """Return how many seconds of the recording at `url` the browser can play."""
    script = """url => new Promise((resolve, reject) => {
      const player = document.createElement('video');
      player.onloadedmetadata = () => resolve(player.duration);
      player.onerror = () => reject(player.error.message);
      player.src = url;
    })"""
    return float(page.evaluate(script, url))


def test_a_video_is_sent_and_played(site, project, open_page):
    page = open_page(project.page_url, **PHONE)
    record(page)
    # Who forgot something hears of it before anything is sent.
    sent: list[str] = []
    page.on("request", lambda asked: sent.append(asked.method) if "/recordings" in asked.url else 0)
    page.get_by_role("button", name="Send my video").click()
    expect(page.get_by_role("link", name=re.compile("^Enter your name"))).to_be_visible()
    assert sent == []
    sign(page)
    follow(page.get_by_role("button", name="Send my video"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you, Theo")
    assert sent == ["POST", "PATCH", "PUT"]
    video = page.get_by_role("region", name="Your card").locator("video")
    assert ".webp" in (video.get_attribute("poster") or "")
    (row,) = project.stored()
    assert (row["kind"], row["text"], row["status"]) == ("video", "", "pending")
    project.sign_in(page, "/inbox")
    page.get_by_role("button", name=re.compile("^Approve")).first.click()
    expect(page.get_by_role("status").filter(has_text="is on your site")).to_be_visible()
    (item,) = project.call("GET", "/testimonials")["items"]
    assert item["recording"]["posterUrl"]
    recording = item["recording"]
    assert plays(page, recording["url"]) == pytest.approx(recording["seconds"], abs=0.5)
    assert recording["seconds"] > 0.5
    # The next visitor at this device finds nothing of it.
    page.goto(project.page_url)
    expect(page.get_by_role("button", name=re.compile("^Record a video"))).to_be_visible()
    assert page.get_by_text("Your video").count() == 0


def test_a_cut_line_and_a_reload_lose_nothing(project, open_page):
    page = open_page(project.page_url, **PHONE)
    page.get_by_role("button", name=re.compile("^Record a video")).click()
    # Two pieces, of which the second gets lost.
    content = (FILES / "chromium.webm").read_bytes()
    void = b"\xec" + (0x10000000 + 600_000).to_bytes(4) + bytes(600_000)
    chooser = page.get_by_label("Choose a file")
    chooser.set_input_files({"name": "a.webm", "mimeType": "video/webm", "buffer": content + void})
    expect(page.get_by_text("Your video", exact=True)).to_be_focused()
    sign(page)
    pieces: list[str | None] = []

    def cut(route: Route) -> None:
        pieces.append(route.request.headers.get("upload-offset"))
        if route.request.method == "HEAD" or len(pieces) > 1:
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route("**/recordings/*", cut)
    page.get_by_role("button", name="Send my video").click()
    expect(page.get_by_role("status")).to_have_text("Paused, no connection")
    expect(page.get_by_role("button", name="Try now")).to_be_visible()
    assert find_violations(page) == []
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    expect(page.get_by_text("Sending continues from there")).to_be_visible()
    # Not before: it tries again by itself.
    page.unroute("**/recordings/*")
    page.route(
        "**/recordings/*", lambda route: pieces.append(route.request.method) or route.continue_()
    )
    sign(page)
    follow(page.get_by_role("button", name="Send my video"))
    assert "HEAD" in pieces
    assert pieces.count("PATCH") == 1
    (row,) = project.stored()
    assert row["kind"] == "video"


def test_other_ways_without_a_camera(site, project, browser):
    flags = [*CHROMIUM_FLAGS, FAKE_CAMERA[0], f"{FAKE_CAMERA[1]}=deny"]
    refusing = browser.browser_type.launch(executable_path=HEADLESS, args=flags)
    page = refusing.new_page(viewport={"width": 360, "height": 680}, reduced_motion="reduce")
    page.goto(f"{project.page_url}?lang=ar")
    page.locator("[data-way=record]").click()
    page.locator("[data-start=video]").click()
    expect(page.get_by_role("heading", name="الكاميرا متوقفة لهذه الصفحة")).to_be_focused()
    page.goto(project.page_url)
    page.get_by_role("button", name=re.compile("^Record a video")).click()
    page.get_by_role("button", name="Turn on the camera").click()
    refusal = page.get_by_role("heading", name="The camera is off for this page")
    expect(refusal).to_be_focused()
    assert find_violations(page) == []
    page.get_by_role("button", name="Only my voice").last.click()
    expect(page.get_by_role("heading", name="The microphone is off")).to_be_focused()
    page.get_by_role("button", name="Write instead").click()
    expect(page.get_by_label("Your words")).to_be_visible()
    refusing.close()
