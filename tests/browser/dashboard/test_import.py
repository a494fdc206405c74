"""Importing a file in the dashboard: chosen, looked at, imported, with and without a script."""

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.pages import follow
from tests.browser.screens import check_screens

pytestmark = [pytest.mark.browser, pytest.mark.process]

LONG = "Superkalifragilistisch" * 60


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
    if has_script:
        check_screens(page)


def test_a_file_that_is_too_large_is_not_sent(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_page(project.page_url)
    project.sign_in(page, "/import")
    page.get_by_label("CSV or JSON file").set_input_files(file_of("x" * (12 * 1024 * 1024 + 1)))
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text("The file is larger than 12 MB.")


def test_the_pages_are_accessible_and_fit(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_page(project.page_url)
    project.sign_in(page, "/import")
    check_screens(page)
    row = f'{"N" * 100},"{LONG}",4.5,2024-01-02,"{"R" * 100}"'
    choose(page, project, f"Name,Words,Rating,Date,Role\n{row}\nمريم,خدمة رائعة,5,,\nA,B,9,,\n")
    check_screens(page)
    choose(page, project, "Wer,Was\nA,B\n")
    check_screens(page)
    choose(page, project, f"Name,Words,Date,Photo\nA,{LONG * 2},03/04/2024,ftp://x\n")
    check_screens(page)
    page.get_by_label("3 April 2024").check()
    follow(page.get_by_role("button", name="Continue"))
    check_screens(page)
    page.goto(f"{site.url}/dashboard/projects/import")
    check_screens(page)


def test_exports_are_downloaded(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_page(project.page_url)
    project.sign_in(page)
    page.goto(f"{project.dashboard}/settings")
    for name, ending in (("Export all", ".zip"), ("CSV of the testimonials", ".csv")):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=name).click()
        assert waiting.value.suggested_filename.startswith(project.slug)
        assert waiting.value.suggested_filename.endswith(ending)
    page.goto(f"{site.url}/dashboard/account")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Export everything of mine").click()
    assert waiting.value.path().read_bytes()[:2] == b"PK"
