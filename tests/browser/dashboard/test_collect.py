"""Collect as a person uses it: pasting, sending, taking it back, by keyboard."""

import re

from playwright.sync_api import Page, expect

from tests.browser.pages import follow
from tests.support.servers import wait_for

WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
# Pasted from an address book.
LIST = "Hannah Weir <hannah{0}@example.com>\nAiko Tanaka <aiko{0}@example.com>\nnobody"


def paste(page: Page, text: str) -> None:
    field = page.get_by_label("Email addresses")
    field.evaluate(
        """(field, text) => {
          const data = new DataTransfer();
          data.setData('text/plain', text);
          field.dispatchEvent(
            new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
        }""",
        text,
    )


def test_pasting_and_sending_are_two_taps_and_can_be_taken_back(site, open_page, project):
    page = project.open(open_page, "/collect", viewport=WIDE)
    people = page.get_by_role("list", name="People")
    paste(page, LIST.format(project.slug))
    expect(people.locator(".chip")).to_have_count(3)
    expect(people.locator(".chip.is-wrong")).to_contain_text("There is no email address here")
    expect(page.get_by_role("status").filter(has_text="2 added, 1 needs a look")).to_be_attached()
    expect(page.locator("[data-words]")).to_contain_text("Hi Hannah,")
    follow(page.get_by_role("button", name="Send to 2 people"))
    expect(page.get_by_text("2 mails go out in 30 seconds")).to_be_visible()
    expect(page.get_by_text(re.compile(r"Goes out in \d")).first).to_be_visible()
    follow(page.get_by_role("button", name="Undo"))
    expect(page.get_by_text("Nothing was sent")).to_be_visible()
    expect(people.locator(".chip")).to_have_count(2)
    follow(page.get_by_role("button", name="Send to 2 people"))
    follow(page.get_by_role("button", name=re.compile("Cancel ?: Aiko Tanaka")))
    hannah = [f"hannah{project.slug}@example.com"]
    sent = lambda: [mail for mail in site.sink.received if mail.recipients == hannah]  # noqa: E731
    wait_for(sent, what="the mail", seconds=90)
    page.goto(f"{project.dashboard}/collect")
    expect(page.get_by_role("heading", name="You asked 1 person")).to_be_visible()
    aiko = f"aiko{project.slug}@example.com"
    assert not [mail for mail in site.sink.received if aiko in mail.recipients]


def test_chips_by_keyboard(open_page, project):
    page = project.open(open_page, "/collect", viewport=PHONE, color_scheme="dark")
    field = page.get_by_label("Email addresses")
    chips = page.get_by_role("list", name="People").locator(".chip")
    field.focus()
    page.keyboard.type("a1@example.com")
    page.keyboard.press("Enter")
    expect(chips).to_have_count(1)
    # A phone's keyboard doesn't say which key it was.
    page.keyboard.insert_text("a2@example.com,")
    expect(chips).to_have_count(2)
    page.keyboard.press("Backspace")
    expect(chips.last).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Delete")
    expect(chips).to_have_count(1)
    page.get_by_role("button", name="Remove a2@example.com").focus()
    page.keyboard.press("Enter")
    expect(chips).to_have_count(0)
    expect(field).to_be_focused()
    # What was typed last needs no Enter of its own.
    page.keyboard.type("last@example.com")
    follow(page.get_by_role("button", name="Send", exact=True))
    expect(page.get_by_text("1 mail goes out in 30 seconds")).to_be_visible()


def test_the_mail_is_changed_where_it_stands(open_page, project):
    page = project.open(open_page, "/collect", viewport=WIDE)
    page.get_by_role("button", name="Change the words").click()
    editor = page.get_by_role("textbox", name="Message")
    expect(editor.locator(".mail-field")).to_have_text("first name")
    page.keyboard.press("ControlOrMeta+End")
    page.keyboard.press("Enter")
    page.keyboard.type("Mira")
    page.get_by_label("Subject").fill("How was the bread?")
    message = page.locator("[name=message]").input_value()
    assert message.startswith("Hi {first_name},")
    assert message.endswith("\nMira")
    page.get_by_role("button", name="Done").click()
    expect(page.locator("[data-words]")).to_contain_text("Mira")
    page.get_by_text("Change", exact=True).click()
    page.get_by_label("Reminder").select_option("never")
    expect(page.get_by_text("Now, no reminder")).to_be_visible()
    page.get_by_label("Email addresses").fill("bread@example.com")
    follow(page.get_by_role("button", name="Send", exact=True))
    expect(page.get_by_text("1 mail goes out in 30 seconds")).to_be_visible()


def test_a_file_opens_a_dialog_for_its_columns(open_page, project):
    page = project.open(open_page, "/collect", viewport=WIDE)
    table = "Kunde;Kontakt\nLi;li@example.org\nNoor;noor@example.org\nX;bad\n"
    file = {"name": "people.csv", "mimeType": "text/csv", "buffer": table.encode()}
    page.get_by_label("Upload a list").set_input_files(file)  # type: ignore[arg-type]
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("3 need a look")).to_be_visible()
    dialog.get_by_label("Email").select_option(label="Kontakt")
    expect(dialog.get_by_text("1 needs a look")).to_be_visible()
    dialog.get_by_label("Name").select_option(label="Kunde")
    expect(dialog.get_by_role("button", name="Add 2 people")).to_be_enabled()
    dialog.get_by_role("button", name="Add 2 people").click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name="Send to 2 people")).to_be_visible()
    expect(page.get_by_role("button", name="Remove Noor")).to_be_visible()
