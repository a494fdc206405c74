"""Importing a file in the dashboard, chosen and looked at."""

from playwright.sync_api import FilePayload, Page, expect

from tests.browser.conftest import Project
from tests.browser.pages import follow

# Made in the page, since so much would be long on its way there.
CHOOSE_LARGE = """(field) => {
  const files = new DataTransfer();
  files.items.add(new File([new Uint8Array(12 * 1024 * 1024 + 1)], 'a.csv', { type: 'text/csv' }));
  field.files = files.files;
  field.dispatchEvent(new Event('change', { bubbles: true }));
}"""


def choose(page: Page, project: Project, text: str) -> None:
    """Choose a file and look at what would happen."""
    page.goto(f"{project.dashboard}/import")
    payload: FilePayload = {"name": "a.csv", "mimeType": "text/csv", "buffer": text.encode()}
    with page.expect_navigation():
        page.get_by_label("CSV or JSON file").set_input_files(payload)


def test_a_file_is_imported_while_the_page_follows(open_page, project):
    page = project.open(open_page, "/import")
    # One that is too large is not even sent.
    page.get_by_label("CSV or JSON file").evaluate(CHOOSE_LARGE)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text("The file is larger than 12 MB.")
    people = "".join(f"Person {number},Words {number},5\n" for number in range(600))
    choose(page, project, f"Name,Words,Rating\n{people}")
    follow(page.get_by_role("button", name="Import", exact=True))
    # The page moves by itself.
    expect(page.get_by_role("heading", level=1)).to_have_text("Imported")
