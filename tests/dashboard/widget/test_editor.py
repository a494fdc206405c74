"""The widget editor: its draft, and what publishing it changes."""

import json
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from selectolax.lexbor import LexborHTMLParser
from werkzeug.test import TestResponse

from testimonials.core.extensions import db
from testimonials.core.jobs import run_due
from testimonials.projects import models
from testimonials.widget.drafts import LOOKS
from tests.auth.browsers import open_browser
from tests.conftest import Caller
from tests.dashboard.inbox.inbox import JSON
from tests.support.rows import add_testimonial, add_widget, change_project

# Another value of each control, and what it makes of the settings.
OTHER: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "colour": ("fc3", {}, {"brandColor": "#FFCC33"}),
    "theme": ("dark", {"theme": "dark"}, {}),
    "cardStyle": ("stripe", {"cardStyle": "stripe"}, {}),
    "corners": ("0", {}, {"radius": 0}),
    "density": ("airy", {}, {"density": "airy"}),
    "stars": ("off", {"showStars": False}, {}),
    "photos": ("false", {}, {"photoSize": 0}),
    "dates": ("month", {}, {"dateStyle": "month"}),
    "showSource": ("false", {"showSource": False}, {}),
    "showHighlights": ("false", {}, {"showHighlights": False}),
    "show": ("chosen", {}, {"onlyChosen": True}),
    "initialCount": ("50", {"initialCount": 50}, {}),
    "showHeader": ("true", {}, {"showHeader": True}),
    "showCtaButton": ("false", {"showCtaButton": False}, {}),
    "arrangement": (
        "one",
        {"layout": "carousel", "animation": "horizontal"},
        {"marqueeRows": 1},
    ),
    "cardWidth": ("wide", {}, {"cardWidth": "wide"}),
    "featured": ("solid", {}, {"featured": "solid"}),
    "minRating": ("4", {}, {"minRating": 4}),
    "minLength": ("80", {}, {"minLength": 80}),
    "labelShowMore": ("And more", {}, {"labels": {"showMore": "And more"}}),
    "font": ("serif", {}, {"font": "serif"}),
}


@pytest.fixture
def project(owner: Caller) -> str:
    project_id: str = owner.create_project(slug="fern", businessName="Fern")["_id"]
    owner.create_testimonial(project_id, text="Words </script> that are shown.")
    return project_id


def path(project_id: str, rest: str = "") -> str:
    return f"/dashboard/projects/{project_id}/widget{rest}"


def stored(app: Flask, project_id: str) -> tuple[dict[str, Any], dict[str, Any], int]:
    """Return the published settings, what of the design differs, and the feed's version."""
    with app.app_context():
        found = db.session.get_one(models.Project, project_id)
        return found.widget_config, found.widget_design, found.feed_version


def read_form(page: str) -> dict[str, list[str]]:
    """Return what a browser without script would send of the page as it stands."""
    form = LexborHTMLParser(page).css_first("#widget-form")
    values: dict[str, list[str]] = {}
    for node in form.css("input[name], select[name]"):
        attributes = node.attributes
        value = attributes.get("value") or ""
        if node.tag == "select":
            chosen = node.css_first("option[selected]") or node.css_first("option")
            value = chosen.attributes["value"] or ""
        elif attributes.get("type") in ("radio", "checkbox") and "checked" not in attributes:
            continue
        values.setdefault(attributes["name"] or "", []).append(value)
    return values


def open_form(browser: FlaskClient, project_id: str, query: str = "") -> dict[str, list[str]]:
    return read_form(browser.get(path(project_id, query)).text)


def save(browser: FlaskClient, project_id: str, query: str = "", **changes: Any) -> TestResponse:
    """Save as the script does: the whole form with what was changed."""
    form = open_form(browser, project_id, query) | changes
    return browser.post(path(project_id, query), data=form, headers=JSON)


def publish(browser: FlaskClient, project_id: str) -> TestResponse:
    return save(browser, project_id, publish="1")


def test_the_whole_form_without_a_script(app, browser, project):
    config, design, version = stored(app, project)
    form = open_form(browser, project)
    assert form.keys() >= OTHER.keys()
    form |= {name: [value] for name, (value, *_) in OTHER.items()}
    page = browser.get(browser.post(path(project), data=form).headers["Location"]).text
    assert "Saved" in page
    assert f"{len(OTHER)} changes, not on your site yet" in page
    # Visitors, the API and caches know nothing of it.
    assert stored(app, project) == (config, design, version)
    answer = browser.post(path(project), data=read_form(page) | {"publish": ["1"]})
    assert "Published" in browser.get(answer.headers["Location"]).text
    for _, settings, looks in OTHER.values():
        config, design = config | settings, design | looks
    assert stored(app, project)[:2] == (config, design)
    assert stored(app, project)[2] > version
    before = stored(app, project)
    publish(browser, project)
    assert stored(app, project) == before, "there was nothing to publish"


def test_tags_and_what_is_chosen_are_one_control(app, owner, browser, project):
    # Samples aren't counted.
    assert "All approved" in browser.get(path(project)).text
    owner.create_testimonial(project)
    assert "All 2 approved" in browser.get(path(project)).text
    save(browser, project, show="tags", tags=["press"])
    publish(browser, project)
    assert stored(app, project)[1]["tags"] == ["press"]
    assert ">Highlights, “press”<" in browser.get(path(project)).text
    save(browser, project, show="all")
    publish(browser, project)
    assert "tags" not in stored(app, project)[1]


def test_the_brand_shows_until_a_colour_is_chosen(app, owner, browser, project):
    page = browser.get(path(project)).text
    assert ">Your brand</span>" in page
    answer = save(browser, project, colour="#065f46").json
    assert (answer["values"]["colour"], answer["color"]) == ("#065F46", "#065F46")  # type: ignore[index]
    answer = save(browser, project, colour="").json
    assert answer["changed"] == ""  # type: ignore[index]
    # An agent's palette is an own value, and the brand takes its place.
    owner.patch(f"/v1/projects/{project}/widget-config", {"palette": "emerald"})
    assert "Emerald, chosen by your agent" in browser.get(path(project)).text
    save(browser, project, colour="")
    publish(browser, project)
    assert stored(app, project)[0]["palette"] is None


def test_auto_is_as_the_site_until_a_call_names_a_theme(owner, client, browser, project):
    def shown() -> Any:
        return client.get(f"/widget/{project}/feed").json["config"]["theme"]  # type: ignore[index]

    save(browser, project, theme="auto")
    publish(browser, project)
    assert shown() == "auto"
    assert "light-dark(" in client.get(f"/widget/{project}").text
    # Night takes its place, and gives it back; the specified setting is as it was.
    for look, theme in (("night", "dark"), ("wall", "auto")):
        browser.post(path(project, "/look"), data={"look": look})
        assert open_form(browser, project)["theme"] == [theme]
    answer = owner.get(f"/v1/projects/{project}").json["data"]  # type: ignore[index]
    assert answer["widgetConfig"]["theme"] == "light"
    owner.patch(f"/v1/projects/{project}/widget-config", {"theme": "dark"})
    assert shown() == "dark"


def test_a_draft_holds_only_what_is_changed(app, owner, browser, project):
    save(browser, project, theme="dark", corners="0")
    save(browser, project, corners="3")
    assert "1 change, not on your site yet" in browser.get(path(project)).text
    # What the API or a colleague changes meanwhile stays changed.
    second = open_browser(app, owner)
    mine, theirs = open_form(browser, project), open_form(second, project)
    owner.patch(f"/v1/projects/{project}/widget-config", {"cardStyle": "outlined"})
    browser.post(path(project), data=mine | {"density": ["airy"]})
    second.post(path(project), data=theirs | {"initialCount": ["12"], "publish": ["1"]})
    config, design, _ = stored(app, project)
    assert (config["cardStyle"], config["theme"], config["initialCount"]) == (
        "outlined",
        "dark",
        12,
    )
    assert design == {"density": "airy"}


def test_each_step_is_taken_back(browser, project):
    def undo() -> dict[str, Any]:
        return browser.post(path(project, "/undo"), headers=JSON).json["values"]  # type: ignore[index, no-any-return]

    save(browser, project, theme="dark")
    for corners in ("0", "1", "2"):
        save(browser, project, corners=corners)
    browser.post(path(project, "/look"), data={"look": "letters"})
    answer = browser.post(path(project, "/discard"))
    page = browser.get(answer.headers["Location"]).text
    assert "Changes discarded" in LexborHTMLParser(page).css_first("[data-toasts]").text()
    assert "not on your site yet" not in LexborHTMLParser(page).css_first("[data-changed]").text()
    assert undo()["arrangement"] == "list"
    assert (undo()["arrangement"], undo()["corners"]) == ("masonry", 3)
    assert undo()["theme"] == "light"
    assert undo()["theme"] == "light"


def test_a_badge_in_the_gallery_loads_nothing_for_cards(app, browser, project):
    add_testimonial(app, project, text="Warm bread.", rating=5, highlights=[[0, 4]])
    page = LexborHTMLParser(browser.get(path(project, "/new")).text)
    drawn = json.loads(page.css_first("#gallery").text())["drawn"]
    assert drawn["badge"]["draw"].split() == ["badge", "badge"]
    assert {"cards", "extras"} <= set(drawn["single"]["draw"].split())


@pytest.mark.parametrize("is_on", [True, False])
def test_looks_are_shown_with_an_average_on_top_only_where_the_widget_has_one(
    app, browser, project, is_on
):
    add_testimonial(app, project, rating=4)
    save(browser, project, showHeader=json.dumps(is_on))
    page = LexborHTMLParser(browser.get(path(project, "/new")).text)
    shown = json.loads(page.css_first("#gallery").text())
    assert bool(shown["feed"].get("header")) is is_on
    assert not any("header" in shown["drawn"][look] for look in LOOKS)
    # What is small is little else.
    assert shown["drawn"]["badge"]["header"]["count"] == 1


def test_a_look_sets_what_it_says_and_nothing_else(browser, project):
    own = {"showHeader": "true", "stars": "off", "initialCount": "12", "theme": "light"}
    save(browser, project, **own)
    before = open_form(browser, project)
    allowed = {
        "arrangement", "cardStyle", "corners", "density", "featured", "font", "before", "stars",
    }  # fmt: skip
    for look in LOOKS:
        page = browser.get(
            browser.post(path(project, "/look"), data={"look": look}).headers["Location"]
        ).text
        shown = LexborHTMLParser(page).css_first("[data-look]").text()
        assert shown == LOOKS[look].title
        form = read_form(page)
        different = {name for name in form if form[name] != before[name]}
        assert different <= (allowed | {"theme"} if look == "night" else allowed), look
        assert form["theme"] == ["dark" if look == "night" else "light"]
    save(browser, project, corners="0")
    page = browser.get(path(project)).text
    assert "Your own" in page
    assert "Back to “Night”" in page
    answer = browser.post(path(project, "/look"), headers=JSON).json
    assert answer["look"] == "Night"  # type: ignore[index]
    browser.post(path(project, "/look"), data={"look": "wall"})
    assert open_form(browser, project)["theme"] == ["light"]


REFUSED = (
    ("theme", "sepia", "Choose one of the options."),
    ("colour", "blue", "Enter a colour such as #4F46E5."),
    ("corners", "5", "Must be a whole number from 0 to 4."),
    ("tags", [str(n) for n in range(21)], "Choose at most 20 tags."),
    ("labelReadMore", "x" * 61, "Shorten this to 60 characters; it has 61."),
    ("initialCount", "2", "Must be a whole number from 3 to 50."),
    ("initialCount", "9" * 5000, "Must be a whole number from 3 to 50."),
    ("ctaUrl", "javascript:alert(1)", "Enter a web address, such as example.com."),
)


def test_a_bad_value_is_refused_with_the_rule(app, browser, project):
    before = stored(app, project)
    for name, value, rule in REFUSED:
        answer = save(browser, project, showSource="false", **{name: value})
        assert answer.status_code == 422, name
        assert rule in answer.json["errors"][name][0]  # type: ignore[index]
        form = open_form(browser, project) | {"showSource": "false", name: value}
        page = browser.post(path(project), data=form)
        assert page.status_code == 422
        # The rest of what was sent is still there.
        assert read_form(page.text)["showSource"] == ["false"]
    publish(browser, project)
    assert stored(app, project) == before
    for nonsense in ("nonsense", "[]", "{", "null"):
        browser.post(path(project), data={"theme": "dark", "before": nonsense})
    assert open_form(browser, project)["theme"] == ["dark"]


def test_the_preview_has_the_real_script_and_the_draft(app, client, browser, project):
    change_project(app, project, brand={"read": {"ground": "#FBF6F0", "typeface": "classic"}})
    feed = save(browser, project, theme="dark", ctaLabel="Book").json["feed"]  # type: ignore[index]
    assert (feed["config"]["theme"], feed["cta"]["label"]) == ("dark", "Book")
    page = browser.get(path(project, "/preview"))
    assert page.headers["Cache-Control"] == "no-store"
    assert '<script src="/widget/v1.js" defer></script>' in page.text
    assert 'data-ground="#FBF6F0" data-font="Georgia,' in page.text
    data = json.loads(page.text.partition('id="feed">')[2].partition("</script>")[0])
    assert (data["config"]["theme"], len(data["items"])) == ("dark", 1)
    assert page.text.count("</script>") == 3
    # Without a script it leads to what is published.
    assert f'<noscript><p class="stage"><a href="/widget/{project}" target="_top">' in page.text
    public = client.get(f"/widget/{project}/feed").json
    assert public["config"]["theme"] == "light"  # type: ignore[index]


def test_a_saved_widget_is_edited_by_itself(app, client, browser, project):
    add_widget(app, project, "home")
    assert f'href="{path(project)}?widget=home"' in browser.get(path(project)).text
    save(browser, project, "?widget=home", arrangement="strip", minRating="4")
    answer = browser.post(
        path(project, "?widget=home"),
        data=open_form(browser, project, "?widget=home") | {"publish": "1"},
    )
    assert answer.headers["Location"].startswith(path(project, "?widget=home"))
    feed = client.get(f"/widget/{project}/feed?widget=home").json
    assert (feed["shape"], feed["items"]) == ("strip", [])  # type: ignore[index]
    assert "shape" not in client.get(f"/widget/{project}/feed").json  # type: ignore[operator]
    for method, rest in (("GET", ""), ("POST", ""), ("GET", "/preview"), ("POST", "/undo")):
        answer = browser.open(path(project, f"{rest}?widget=unknown"), method=method)
        assert answer.status_code == 404


def delete_and_find_undo(browser: FlaskClient, url: str) -> tuple[str, dict[str, str]]:
    """Delete what has this address; return where Undo leads, and what it sends."""
    page = browser.get(browser.post(url).headers["Location"])
    form = LexborHTMLParser(page.text).css_first("[data-toasts] form")
    token = form.css_first("[name=undo]").attributes["value"]
    return str(form.attributes["action"]), {"undo": str(token)}


def test_what_is_deleted_comes_back_once_and_for_ten_minutes(
    app, client, browser, owner, project, moved_clock
):
    add_widget(app, project, "home")
    save(browser, project, "?widget=home", arrangement="strip", minRating="4")
    editor, listed = path(project, "?widget=home"), f"/v1/projects/{project}/widgets"
    drafted = open_form(browser, project, "?widget=home")
    _, home = owner.get(listed).json["data"]  # type: ignore[index]
    here = f"/dashboard/projects/{project}"
    browser.post(f"{here}/collect/page/name", data={"title": "Course"})
    words = {"headline": "How was the course?", "tag": "course"}
    browser.post(f"{here}/collect/page?form=course", data=words)
    undos = f"{here}/widget/deleted/undo", f"{here}/collect/page/deleted/undo"
    for number, url in enumerate(("widgets/home/delete", "collect/page/forms/course/delete")):
        undo, sent = delete_and_find_undo(browser, f"{here}/{url}")
        assert undo == undos[number]
        assert browser.post(f"{here}/{url}").status_code == 404
        # By its own door, and once.
        told = [browser.post(each, data=sent) for each in (undos[1 - number], undo, undo)]
        assert [answer.status_code for answer in told] == [422, 303, 422]
    assert open_form(browser, project, "?widget=home") == drafted
    assert owner.get(listed).json["data"][1] == home  # type: ignore[index]
    assert words["headline"] in client.get("/fern/f/course").text

    undo, sent = delete_and_find_undo(browser, f"{here}/widgets/home/delete")
    moved_clock.move(minutes=11)
    with app.app_context():
        run_due("jobs")
    refused = browser.post(undo, data=sent)
    assert refused.status_code == 422
    assert "This can no longer be undone." in refused.text
    assert browser.get(editor).status_code == 404
