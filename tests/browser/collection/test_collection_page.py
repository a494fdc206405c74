"""The page on which visitors write: every way to send, to fail and to come back; the photo."""

import base64
import re
import threading

from playwright.sync_api import FilePayload, Page, Route, expect

from tests.browser.conftest import Project
from tests.browser.pages import WATCH_SHIFTS, follow, open_form
from tests.collection.test_photos import phone_photo
from tests.support.pictures import HEIC, photo, png_of_size, read, to_bytes
from tests.support.rows import change_project, read_testimonials

TEXT = "Two good questions, then gold.\nWorth <b>every</b> minute."
SEND = "Send my testimonial"


def write(page: Page, text: str = TEXT, email: str = "hannah@example.com") -> None:
    """Fill in what is needed and a little more."""
    open_form(page)
    page.get_by_label("Your words").fill(text)
    page.get_by_label("Your name").fill("Hannah Whitlock")
    page.get_by_label("Role").fill("Wedding client")
    page.get_by_label("Email").fill(email)
    page.get_by_role("checkbox").check()


def check_thanks(page: Page, words: str = "Thank you, Hannah") -> None:
    """Check that the visitor is thanked, and that the heading is what is read first."""
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text(words)
    expect(heading).to_be_focused()


def drafts(page: Page) -> int:
    """Count the drafts that this browser keeps."""
    return int(page.evaluate("Object.keys(localStorage).length"))


def send(page: Page) -> None:
    page.get_by_role("button", name=SEND).click()


def write_for_link(page: Page, email: str) -> str:
    """Send a testimonial; return the link that the thank-you page shows."""
    write(page, email=email)
    send(page)
    check_thanks(page)
    return str(page.get_by_role("link", name="Open").get_attribute("href"))


def test_words_without_a_script_wait_for_approval(project, open_page):
    page = open_page(project.page_url, java_script_enabled=False)
    write(page)
    page.get_by_role("radio", name="4 stars").check(force=True)
    page.get_by_role("button", name=SEND).dblclick()
    check_thanks(page)
    (row,) = project.stored()
    assert (row["status"], row["text"], row["rating"]) == ("pending", TEXT, 4)


def test_enter_and_click_make_one_row(project, open_page):
    page = open_page(project.page_url)
    write(page)
    # Both before the browser does anything else, which no two real key strokes could be.
    page.get_by_role("button", name=SEND).evaluate(
        "button => { button.form.requestSubmit(); button.click(); }"
    )
    check_thanks(page)
    assert len(project.stored()) == 1


def test_stars_by_arrow_keys(project, open_page):
    page = open_page(project.page_url)
    stars = page.get_by_role("group", name="Your rating").get_by_role("radio")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(stars.first).to_be_focused()
    for key in ("Space", *["ArrowRight"] * 4, "ArrowLeft"):
        page.keyboard.press(key)
    expect(page.get_by_role("radio", name="4 stars")).to_be_checked()
    page.get_by_role("button", name="Clear your rating").click()
    for star in stars.all():
        expect(star).not_to_be_checked()
    expect(page.get_by_role("button", name="Clear your rating")).to_be_hidden()
    expect(stars.first).to_be_focused()


def test_draft_is_kept_and_cleared(project, open_page):
    page = open_page(project.page_url)
    write(page)
    page.get_by_role("radio", name="4 stars").check(force=True)
    page.reload()
    expect(page.get_by_text("We kept your draft.")).to_be_visible()
    expect(page.get_by_label("Your words")).to_have_value(TEXT)
    expect(page.get_by_label("Your name")).to_have_value("Hannah Whitlock")
    expect(page.get_by_role("radio", name="4 stars")).to_be_checked()
    # Consent is given anew each time.
    expect(page.get_by_role("checkbox")).not_to_be_checked()
    page.get_by_role("button", name="Start over").click()
    expect(page.get_by_label("Your words")).to_have_value("")
    assert drafts(page) == 0
    write(page)
    send(page)
    check_thanks(page)
    assert drafts(page) == 0
    page.goto(project.page_url)
    expect(page.get_by_role("link", name="Write without stars")).to_be_visible()
    expect(page.get_by_label("Your words")).to_have_value("")
    expect(page.get_by_text("We kept your draft.")).to_be_hidden()


def test_errors_keep_what_was_typed(project, open_page):
    page = open_page(project.page_url)
    open_form(page)
    page.get_by_label("Your words").fill(TEXT)
    page.get_by_label("Company").fill("x" * 121)
    page.get_by_role("radio", name="2 stars").check(force=True)
    page.get_by_role("button", name=SEND).click()
    summary = page.get_by_role("alert")
    expect(summary).to_be_focused()
    expect(summary).to_contain_text("3 things need a change")
    for label, value in (("Your words", TEXT), ("Company", "x" * 121), ("Your name", "")):
        expect(page.get_by_label(label)).to_have_value(value)
    expect(page.get_by_role("radio", name="2 stars")).to_be_checked()
    link = "Shorten this to 120 characters; it has 121."
    summary.get_by_role("link", name=link).click()
    expect(page.get_by_label("Company")).to_be_focused()
    expect(page.get_by_label("Company")).to_have_accessible_description(re.compile(link))


def test_counter_counts_code_points_and_cuts_nothing(project, open_page):
    page = open_page(project.page_url)
    open_form(page)
    words = page.get_by_label("Your words")
    words.fill("😀" * 1599)
    expect(page.get_by_text("of 2000")).to_be_hidden()
    words.fill("😀" * 1600 + "  \n")
    expect(page.get_by_text("1600 of 2000")).to_be_visible()
    words.fill("😀" * 2001)
    expect(page.get_by_text("1 too many (2001 of 2000)")).to_be_visible()
    assert len(words.input_value()) == 2001


def test_answers_show_and_are_taken_back(site, project, open_page):
    plain = {"choices": [], "several": False, "isRequired": False, "isPublic": True}
    plain |= {"low": "", "high": "", "translations": {}}
    bought = {"kind": "choice", "text": "What do you take home?", "choices": ["Bread", "Buns"]}
    questions = [
        plain | {"id": "takehome"} | bought,
        plain | {"id": "comeback", "kind": "scale", "text": "Will you come back?"},
        plain | {"id": "whatbake", "kind": "text", "text": "What did you bake?", "isPublic": False},
    ]
    change_project(site.app, project.id, page_design={"questions": questions})
    page = open_page(project.page_url)
    write(page)
    answers = page.locator("[data-look] .answers")
    page.get_by_role("radio", name="Buns").check(force=True)
    page.get_by_role("radio", name="0", exact=True).check(force=True)
    page.get_by_label("What did you bake?").fill("Only the owner reads it")
    expect(answers).to_have_text("What do you take home?BunsWill you come back?0/10")
    page.get_by_role("button", name="Clear Will you come back?").click()
    expect(page.get_by_role("radio", name="0", exact=True)).to_be_focused()
    expect(answers).to_have_text("What do you take home?Buns")
    page.get_by_role("button", name="Clear What do you take home?").click()
    expect(answers).to_have_count(0)
    send(page)
    check_thanks(page)
    (row,) = read_testimonials(site.app, project.id)
    assert [each["id"] for each in row.answers] == ["whatbake"]


WIDE = to_bytes(photo(1600, 1200), "PNG")
# What a script does with a file: `dataTransfer` or `clipboardData` that holds it.
CARRY = """({ kind, name, type, data, padding, text, target }) => {
  const carried = new DataTransfer();
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  if (data) carried.items.add(new File([bytes, new Uint8Array(padding)], name, { type }));
  if (text) carried.items.add(text, 'text/plain');
  const options = { bubbles: true, cancelable: true };
  const event = kind === 'paste'
    ? new ClipboardEvent('paste', { ...options, clipboardData: carried })
    : new DragEvent(kind, { ...options, dataTransfer: carried });
  return !document.querySelector(target).dispatchEvent(event);
}"""

READ_CHOSEN = """async () => {
  const [file] = document.querySelector('#photo').files;
  const bytes = new Uint8Array(await file.arrayBuffer());
  return btoa(String.fromCharCode(...bytes));
}"""


def file(data: bytes, name: str = "me.jpg", kind: str = "image/jpeg") -> FilePayload:
    return {"name": name, "mimeType": kind, "buffer": data}


def carry(page: Page, kind: str, data: bytes = WIDE, **more: object) -> bool:
    """Drop or paste a file or a text; tell whether the page took it for itself."""
    name, media_type = ("me.png", "image/png") if data == WIDE else ("me.jpg", "image/jpeg")
    file = {"name": name, "type": media_type, "data": base64.b64encode(data).decode()}
    values = {"kind": kind, "text": "", "padding": 0, "target": "#text"} | file | more
    return bool(page.evaluate(CARRY, values))


def choose(page: Page, payload: FilePayload) -> None:
    open_form(page)
    page.get_by_label(re.compile("^Photo")).set_input_files(payload)


def face(project: Project) -> tuple[int, int, int]:
    """Return the colour at the right edge of the only testimonial's stored photo."""
    (row,) = project.stored()
    path = re.search(r"/media/[0-9a-f]{24}\.webp$", row["authorAvatar"])
    assert path
    picture = read(project.site.service.call("GET", path[0]).body).convert("RGB")
    assert picture.size == (256, 256)
    pixel = picture.getpixel((250, 128))
    assert isinstance(pixel, tuple)
    return pixel[0], pixel[1], pixel[2]


def test_little_of_a_large_photo_is_sent_upright(project, open_page):
    page = open_page(project.page_url)
    open_form(page)
    expect(page.locator(".is-ready")).to_be_visible()
    write(page)
    assert carry(page, "drop", phone_photo(), padding=9_000_000)
    expect(page.get_by_role("button", name="Remove the photo")).to_be_visible()
    chosen = base64.b64decode(page.evaluate(READ_CHOSEN))
    assert 0 < len(chosen) < 100_000
    assert b"SecretCameraMaker" not in chosen
    assert read(chosen).size == (300, 300)
    send(page)
    check_thanks(page)
    red, _, blue = face(project)
    assert red > 150 > blue


def test_dropped_pasted_and_removed(project, open_page):
    page = open_page(project.page_url)
    shown = page.locator("[data-photo-face] canvas")
    remove = page.get_by_role("button", name="Remove the photo")
    open_form(page)
    expect(page.locator(".is-ready")).to_be_visible()
    for kind, target in (("drop", ".photo-box"), ("drop", "#name"), ("paste", "#text")):
        assert carry(page, kind, target=target)
        expect(shown).to_be_visible()
        remove.click()
        expect(shown).to_have_count(0)
        expect(page.get_by_label(re.compile("^Photo"))).to_be_focused()
    # A text that brings its picture along is a text, and a text alone is none of ours.
    assert not carry(page, "paste", text="Copied from a document")
    assert not carry(page, "paste", b"", text="Copied")
    expect(shown).to_have_count(0)
    write(page)
    carry(page, "paste")
    expect(shown).to_be_visible()
    send(page)
    check_thanks(page)
    face(project)


def test_a_refused_photo_never_costs_the_text(site, open_page, case):
    refused = (
        (file(HEIC, "me.heic", "image/heic"), "can’t be read as a picture"),
        (file(png_of_size(20_000, 20_000), "me.png", "image/png"), "too many pixels"),
        (file(phone_photo()[:900]), "damaged"),
    )
    for payload, words in refused:
        project = site.create_project()
        page = open_page(project.page_url)
        write(page)
        page.get_by_role("radio", name="4 stars").check(force=True)
        choose(page, payload)
        problem = page.locator("#photo-problem, #photo-error").get_by_text(re.compile(words))
        # What is no picture for the browser is told before it is sent, the rest by the server.
        expect(page.locator("[data-photo].has-photo, #photo-problem:not([hidden])")).to_be_visible()
        if not problem.is_visible():
            send(page)
        with case(words):
            expect(problem).to_be_visible()
            expect(page.get_by_label("Your words")).to_have_value(TEXT)
            expect(page.get_by_role("radio", name="4 stars")).to_be_checked()
            expect(page.get_by_role("checkbox")).to_be_checked()
            without = page.get_by_role("button", name="Send without a photo")
            (without if without.is_visible() else page.get_by_role("button", name=SEND)).click()
            check_thanks(page)
            (row,) = project.stored()
            assert row["text"] == TEXT
            assert "authorAvatar" not in row


def test_text_and_photo_stay_while_offline(project, open_page):
    page = open_page(project.page_url)
    write(page)
    choose(page, file(phone_photo()))
    expect(page.locator("[data-photo-face] canvas")).to_be_visible()
    page.context.set_offline(True)
    send(page)
    expect(page.get_by_text("You’re offline.")).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("button", name="Try again")).to_be_focused()
    expect(page.get_by_label("Your words")).to_have_value(TEXT)
    expect(page.locator("[data-photo-face] canvas")).to_be_visible()
    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    check_thanks(page)
    assert face(project)[0] > 150


def test_a_line_cut_after_it_arrived_makes_one_row(project, open_page):
    page = open_page(project.page_url)
    lost = []

    def lose(route: Route) -> None:
        if route.request.method == "POST" and not lost:
            lost.append(route.fetch(max_redirects=0).status)
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route(project.page_url, lose)
    write(page)
    choose(page, file(phone_photo()))
    send(page)
    expect(page.get_by_text("We couldn’t tell if it arrived.")).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    check_thanks(page)
    assert lost == [303]
    assert len(project.stored()) == 1


def test_going_back_and_sending_again_makes_one_row(project, open_page):
    page = open_page(project.page_url)
    write(page)
    send(page)
    check_thanks(page)
    page.go_back()
    # Browsers differ in what they keep of a form.
    write(page)
    send(page)
    # The page was loaded again, and anybody could have repeated these words.
    check_thanks(page, "Thank you")
    assert len(project.stored()) == 1
    page.go_back()
    write(page, "Something I forgot to say.")
    send(page)
    check_thanks(page)
    assert {row["text"] for row in project.stored()} == {TEXT, "Something I forgot to say."}


def test_a_link_fills_in_and_a_draft_comes_before_it(project, open_page):
    link = f"{project.page_url}?name=Aiko&company=Kiln&rating=5&email=nonsense"
    page = open_page(link)
    expect(page.get_by_label("Your name")).to_have_value("Aiko")
    expect(page.get_by_role("radio", name="5 stars")).to_be_checked()
    expect(page.get_by_label("Email")).to_have_value("")
    expect(page.get_by_text("We kept your draft.")).to_be_hidden()
    page.get_by_label("Your name").fill("Aiko Tanaka")
    page.get_by_role("radio", name="4 stars").check(force=True)
    page.goto("about:blank")
    page.goto(link)
    expect(page.get_by_text("We kept your draft.")).to_be_visible()
    expect(page.get_by_label("Your name")).to_have_value("Aiko Tanaka")
    expect(page.get_by_label("Company")).to_have_value("Kiln")
    expect(page.get_by_role("radio", name="4 stars")).to_be_checked()
    page.get_by_role("button", name="Start over").click()
    expect(page.get_by_label("Your name")).to_have_value("Aiko")
    expect(page.get_by_role("radio", name="5 stars")).to_be_checked()
    follow(page.get_by_role("link", name="Deutsch"))
    expect(page.get_by_label("Ihr Name")).to_have_value("Aiko")


def test_nothing_moves_when_the_script_arrives(project, open_page):
    # What a link has filled in is open from the start. The scripts wait until all of it is there.
    waiting: list[Route] = []
    come = threading.Event()
    page = open_page("about:blank", viewport={"width": 360, "height": 1600})
    page.route("**/*.js", lambda each: each.continue_() if come.is_set() else waiting.append(each))
    page.goto(f"{project.page_url}?name=Aiko", wait_until="commit")
    expect(page.locator(".site-footer .languages li")).to_have_count(12)
    page.evaluate(WATCH_SHIFTS)
    before = page.evaluate("shifted()")
    come.set()
    for route in waiting:
        route.continue_()
    expect(page.locator(".is-ready")).to_be_attached()
    assert page.evaluate("shifted()") == before
