"""The widget's own words come with its data, in the language that is asked for."""

import re

from testimonials.core.http.i18n import LANGUAGES
from testimonials.projects.defaults import WIDGET_CONFIG
from testimonials.widget.words import write_words
from tests.support.rows import add_testimonial, change_project
from tests.widget.conftest import read_feed


def test_words_are_in_the_language_asked_for(app, client, project):
    add_testimonial(app, project)
    english = read_feed(client, project, "lang=en")
    assert (english["lang"], english["words"]["readMore"]) == ("en", "Read more")
    assert english["words"]["rated"] == "Rated {rating} out of 5"
    seen = {}
    for language in LANGUAGES:
        found = read_feed(client, project, f"lang={language.code}")
        assert found["lang"] == language.code
        assert found["words"].keys() == english["words"].keys()
        assert all("%(" not in text and text for text in found["words"].values())
        seen[language.code] = (found["words"]["showMore"], found["cta"]["label"])
    assert len(set(seen.values())) == len(LANGUAGES) == 12
    assert seen["de"] == ("Mehr anzeigen", "Erfahrung teilen")
    for tag, code in (
        ("de-AT", "de"), ("PT-br", "pt"), ("xx", "en"), ("", "en"), ("%00", "en"),
        ("x" * 2000, "en"),
    ):  # fmt: skip
        assert read_feed(client, project, f"lang={tag}")["lang"] == code


def test_words_are_only_there_when_asked_for_and_once(app, client, owner, project):
    owner.patch(f"/v1/projects/{project}/widget-config", {"initialCount": 3})
    for _ in range(4):
        add_testimonial(app, project)
    plain = read_feed(client, project, "")
    asked = read_feed(client, project, "lang=fr")
    assert asked.keys() - plain.keys() == {"lang", "words", "signs", "dates"}
    after = f"lang=fr&after={plain['next']}"
    assert read_feed(client, project, after) == read_feed(client, project, f"after={plain['next']}")
    # What the browser prefers is not looked at: answers are kept for everybody.
    headers = {"Accept-Language": "ja"}
    assert client.get(f"/widget/{project}/feed?lang=fr", headers=headers).json == asked


def test_numbers_and_dates_come_as_the_language_writes_them(app, client, project):
    for _ in range(2):
        add_testimonial(app, project)
    found = read_feed(client, project, "lang=de")
    assert (found["signs"], found["dates"][8:12]) == (
        ",.",
        ["vor 2 Wochen", "vor 3 Wochen", "vor 4 Wochen", "letzten Monat"],
    )
    change_project(app, project, widget_design={"dateStyle": "month"})
    assert read_feed(client, project, "lang=de")["dates"][2] == "März {year}"
    change_project(app, project, widget_design={"dateStyle": "month", "layout": ""})
    change_project(app, project, widget_config=WIDGET_CONFIG | {"layout": "list"})
    assert read_feed(client, project, "lang=en")["dates"][2] == "March {year}"
    # Where a day stands differs by country, which only the browser knows.
    change_project(app, project, widget_design={"dateStyle": "absolute"})
    found = read_feed(client, project, "lang=en")
    assert "dates" not in found
    assert "dates" in found["draw"].split(" ")


def test_the_owners_words_go_before_others(app, client, project):
    cta = {"cta": {"label": "Write to us"}}
    labels = {"labels": {"showMore": "Noch mehr Lob", "readMore": "Ganz lesen", "showLess": "{n}"}}
    change_project(app, project, widget_design=labels, dashboard_config=cta)
    for code in ("en", "ar"):
        found = read_feed(client, project, f"lang={code}")
        assert found["words"]["showMore"] == "Noch mehr Lob"
        assert (found["words"]["readMore"], found["cta"]["label"]) == ("Ganz lesen", "Write to us")
    assert found["words"]["previous"] == "السابق"
    # The script would look for a value where there is none, and draw nothing.
    with app.app_context():
        edited = write_words({}, name="{Cut} Salon")["edited"]
    for own in (edited, found["words"]["showLess"]):
        assert not re.search(r"{\w+}", own)


def test_a_number_of_ratings_has_its_form(app, client, project):
    change_project(app, project, widget_design={"showHeader": True})
    for rating in (5.0, 4.0):
        add_testimonial(app, project, rating=rating)
    found = read_feed(client, project, "lang=ar")
    assert (found["header"]["average"], found["header"]["count"]) == (4.5, 2)
    # Numbers go into them in the browser.
    add_testimonial(app, project, rating=1.0)
    assert read_feed(client, project, "lang=en")["words"]["ratings"] == "from all {n} ratings"
    assert read_feed(client, project, "lang=en")["words"]["people"] == "{n} people wrote"
    badge = read_feed(client, project, "shape=badge&lang=de")
    assert badge["badge"]["label"] == "3 Bewertungen"
