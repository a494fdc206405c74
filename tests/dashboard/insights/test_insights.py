"""The Insights page: its figures in words, its tables, and its file."""

import re

from flask import Flask
from flask.testing import FlaskClient

from tests.dashboard.insights.counted import add_reads, add_views, add_visits
from tests.support.rows import add_testimonial, change_testimonial

EMPTY = "Nobody has seen the widget yet"


def read(browser: FlaskClient, project: str, query: str = "") -> str:
    """Return the words of the page, without its marks and with single blanks."""
    answer = browser.get(f"/dashboard/projects/{project}/insights{query}")
    assert answer.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", answer.text[answer.text.index("<main") :]).split())


def test_the_figures_are_a_sentence(app: Flask, browser: FlaskClient, project: str) -> None:
    add_views(app, project, 1200, website="fern.example", clicks=7)
    add_views(app, project, 34, ago=3)
    add_views(app, project, 617, website="fern.example", ago=40)
    for query in ("", "?days=0", "?days=100000000", "?days=x"):
        assert "In the last 30 days" in read(browser, project, query)
    words = read(browser, project)
    assert "were seen 1,234 times on one website and your public wall, and" in words
    assert "clicked 7 times" in words
    assert "Views are up 100% on the 30 days before." in words
    assert "on one website and your public wall" in read(browser, project, "?days=365")
    assert "were seen 1,851 times" in read(browser, project, "?days=365")


def test_websites_beyond_a_days_have_a_name(app: Flask, browser: FlaskClient, project: str) -> None:
    add_views(app, project, 7, website="fern.example", ago=5)
    add_views(app, project, 9, website="*", ago=5)
    page = browser.get(f"/dashboard/projects/{project}/insights").text
    assert "Other websites" in page
    assert ">*<" not in page
    # The others are no website that could have lost its snippet.
    assert page.count("Not seen since") == 1
    assert "Get the snippet for fern.example" in read(browser, project)


def test_what_was_seen_has_its_author(app: Flask, browser: FlaskClient, project: str) -> None:
    ids = [add_testimonial(app, project, author_name=f"Ida <{n}>") for n in range(7)]
    for place, testimonial in enumerate(ids):
        add_reads(app, project, testimonial, 100, 60 - place)
    change_testimonial(app, ids[1], status="rejected")
    words = read(browser, project)
    assert "Ida &lt;0&gt;" in words
    assert "60%" in words
    assert "Ida &lt;5&gt;" not in words
    assert "All 7 that were seen" in words
    everything = read(browser, project, "?all=1")
    assert "Ida &lt;6&gt;" in everything
    assert "The first five" in everything


def test_the_way_from_the_page_to_approval(app: Flask, browser: FlaskClient, project: str) -> None:
    visits = add_visits(app, project, 200, 50)
    for visit in visits[:2]:
        add_testimonial(app, project, source="public_page", status="approved", visit=visit)
    words = read(browser, project)
    assert "25% begin to write" in words
    for expected in ("4% of those send it", "48 began, then left.", "you approved 100%"):
        assert expected in words


def test_days_words_and_websites_are_files(app: Flask, browser: FlaskClient, project: str) -> None:
    add_views(app, project, 12, website="fern.example", clicks=2)
    add_views(app, project, 3)
    said = add_testimonial(app, project, author_name="=Ida")
    add_reads(app, project, said, 9, 4)
    page = browser.get(f"/dashboard/projects/{project}/insights?days=7").text
    found = {}
    for name in ("testimonials", "websites"):
        path = f"/dashboard/projects/{project}/insights.csv?days=7&of={name}"
        assert path.replace("&", "&amp;") in page
        answer = browser.get(path)
        assert f"fern-{name}-7-days.csv" in answer.headers["Content-Disposition"]
        found[name] = answer.data.decode("utf-8-sig").splitlines()
    # No spreadsheet takes it for a formula.
    assert found["testimonials"] == ["id,authorName,seen,read", f"{said},'=Ida,9,4"]
    assert found["websites"][0] == "website,views,clicks,lastSeenAt"
    assert found["websites"][1].startswith("fern.example,12,2,")
    assert found["websites"][2].startswith(",3,0,")
    path = f"/dashboard/projects/{project}/insights.csv"
    assert browser.get(f"{path}?of=x").status_code == 404
    answer = browser.get(f"{path}?days=7")
    assert "fern-views-7-days.csv" in answer.headers["Content-Disposition"]
    lines = answer.data.decode("utf-8-sig").splitlines()
    assert (lines[0], len(lines)) == ("day,widget,wall,clicks", 8)
    assert lines[-1].endswith(",12,3,2")
