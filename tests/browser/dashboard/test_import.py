"""Importing a file in the dashboard: chosen, looked at, imported, with and without a script."""

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.process]


# Made in the page, since so much would be long on its way there.
CHOOSE_LARGE = """(field) => {
  const files = new DataTransfer();
  files.items.add(new File([new Uint8Array(12 * 1024 * 1024 + 1)], 'a.csv', { type: 'text/csv' }));
  field.files = files.files;
  field.dispatchEvent(new Event('change', { bubbles: true }));
}"""


def file_of(text: str) -> FilePayload:
    """Return a file to choose."""
    return {"name": "reviews.csv", "mimeType": "text/csv", "buffer": text.encode()}


def choose(page: Page, project: Project, text: str) -> None:
    """Come from the settings, choose a file and look at what would happen."""
    page.goto(f"{project.dashboard}/settings")
    follow(page.get_by_role("link", name="Import testimonials"))
    page.get_by_label("CSV or JSON file").set_input_files(file_of(text))
    follow(page.get_by_role("button", name="Preview"))


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "no script"])
def test_a_file_is_looked_at_changed_and_imported(
    site: Site, open_page: OpenPage, has_script: bool
) -> None:
    project = site.create_project()
    page = open_page(project.page_url, java_script_enabled=has_script)
    project.sign_in(page)
    people = "".join(f"Person {number},Words {number},5\n" for number in range(600))
    choose(page, project, f"Wer,Words,Rating\n{people}Li,Good,9\n")
    expect(page.get_by_role("heading", name="More details needed")).to_be_visible()
    page.get_by_label("Name", exact=True).select_option(label="Wer")
    follow(page.get_by_role("button", name="Preview"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Import 600 testimonials?")
    expect(page.get_by_text("Rating: Must be a number from 1 to 5")).to_be_visible()
    follow(page.get_by_role("button", name="Import 600 testimonials"))
    # The page moves by itself.
    expect(page.get_by_role("heading", level=1)).to_have_text("Imported 600 testimonials")
    assert len(site.run_json("testimonials", "list", project.id, "--limit", "700")) == 600
    follow(page.get_by_role("button", name="Undo this import"))
    expect(page.get_by_role("heading", level=1)).to_have_text("The import was undone")


def test_a_file_that_is_too_large_is_not_sent(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_page(project.page_url)
    project.sign_in(page, "/import")
    page.get_by_label("CSV or JSON file").evaluate(CHOOSE_LARGE)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text("The file is larger than 12 MB.")
