"""The Insights page: its sentence, its path, its list, and its files."""

import re
from datetime import timedelta

from flask.testing import FlaskClient

from testimonials.core import clock
from tests.dashboard.insights.counted import add_reads, add_views, add_visits
from tests.support.rows import add_testimonial, change_testimonial


def read(browser: FlaskClient, project: str, query: str = "") -> str:
    """Return the words of the page, without its marks and with single blanks."""
    answer = browser.get(f"/dashboard/projects/{project}/insights{query}")
    assert answer.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", answer.text[answer.text.index("<main") :]).split())


def test_before_the_first_visit_there_is_one_thing_to_do(browser, project):
    words = read(browser, project)
    assert "Nothing to count yet" in words
    assert "Add to your site" in words
    assert "30 days" not in words


def test_the_figures_are_a_sentence(app, browser, project):
    add_views(app, project, 1200, website="fern.example", clicks=7)
    add_views(app, project, 34, ago=3)
    add_views(app, project, 617, website="fern.example", ago=40)
    add_reads(app, project, add_testimonial(app, project), 90, 61)
    words = read(browser, project)
    assert "were seen 1,234 times and read 61 times ." in words
    assert "That is 100% more than in the month before." in words
    assert "1,200" in words
    for query in ("?days=0", "?days=100000000", "?days=x"):
        assert read(browser, project, query) == words
    assert "were seen 1,851 times" in read(browser, project, "?days=365")
    # The week before had too few to say anything.
    assert "more than" not in read(browser, project, "?days=7")
    table = read(browser, project, "?table=1")
    assert "As a chart" in table
    assert " 1,200 0 " in table


def test_few_views_are_not_compared(app, browser, project):
    add_views(app, project, 199)
    add_views(app, project, 5_000, ago=40)
    assert "than in the month" not in read(browser, project)
    add_views(app, project, 1, website="fern.example")
    assert "That is 96% fewer than in the month before." in read(browser, project)


def test_a_website_gone_quiet_is_one_line(app, browser, project):
    add_views(app, project, 7, website="fern.example", ago=5)
    add_views(app, project, 9, website="*", ago=5)
    page = browser.get(f"/dashboard/projects/{project}/insights?list=websites").text
    assert "Other websites" in page
    assert ">*<" not in page
    # The others are no website that could have lost its snippet.
    assert page.count("Not seen since") == 1
    assert "Add to your site" in read(browser, project)


def test_what_was_read_most_has_its_author(app, browser, project):
    ids = [add_testimonial(app, project, author_name=f"Ida <{n}>") for n in range(7)]
    for place, testimonial in enumerate(ids):
        add_reads(app, project, testimonial, 100, 60 - place)
    change_testimonial(app, ids[1], status="rejected")
    words = read(browser, project)
    assert "Ida &lt;0&gt;" in words
    assert "60% read" in words
    assert "Ida &lt;5&gt;" not in words
    assert "All 7" in words
    everything = read(browser, project, "?all=1")
    assert "Ida &lt;6&gt;" in everything
    assert "Show less" in everything


def test_the_most_read_are_in_the_order_of_the_shares_beside_them(app, browser, project):
    for name, seen, reads in (("Ida", 300, 90), ("Tom", 100, 80), ("Eva", 200, 85)):
        add_reads(app, project, add_testimonial(app, project, author_name=name), seen, reads)
    assert re.findall(r"(\d+)% read", read(browser, project)) == ["80", "42", "30"]


def test_the_path_has_what_came_another_way_beside_it(app, browser, project):
    visits = add_visits(app, project, 200, 50)
    for visit in visits[:2]:
        add_testimonial(app, project, source="public_page", status="approved", visit=visit)
    for source in ("import", "import", "import"):
        add_testimonial(app, project, source=source)
    add_testimonial(app, project, source="manual")
    words = read(browser, project)
    steps = "200 visits to your page 50 started writing 2 sent it 2 approved so far"
    assert steps in words
    assert "4 more came another way." in words
    assert "Visits are counted since" in words
    add_visits(app, project, 1, 0, ago=60)
    assert "Visits are counted since" not in read(browser, project)
    assert "201 visits to your page" in read(browser, project, "?days=90")


def test_ratings_are_a_view_of_the_list(app, browser, project):
    add_views(app, project, 1)
    assert "None yet" in read(browser, project, "?list=ratings")
    for rating in (5, 5, 4):
        when = clock.now() - timedelta(days=1)
        add_testimonial(app, project, rating=rating, submitted_at=when)
    words = read(browser, project, "?list=ratings")
    assert "4.7 on average, 3 with stars" in words
    assert "5 stars 2 4 stars 1 3 stars 0" in words


def test_days_words_and_websites_are_files(app, browser, project):
    add_views(app, project, 12, website="fern.example", clicks=2)
    add_views(app, project, 3)
    said = add_testimonial(app, project, author_name="=Ida", rating=4)
    add_reads(app, project, said, 9, 4)
    page = browser.get(f"/dashboard/projects/{project}/insights?days=7").text
    found = {}
    for name in ("views", "testimonials", "websites", "ratings"):
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
    assert found["ratings"][0] == "week,average,count"
    assert (found["views"][0], len(found["views"])) == ("day,widget,wall,clicks", 8)
    assert found["views"][-1].endswith(",12,3,2")
    path = f"/dashboard/projects/{project}/insights.csv"
    assert browser.get(f"{path}?of=x").status_code == 404
    answer = browser.get(f"{path}?days=7")
    assert answer.data.decode("utf-8-sig").splitlines() == found["views"]
