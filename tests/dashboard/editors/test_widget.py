"""The widget editor: who may use it, what it saves, and going back to the defaults."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

import testimonials
from testimonials.extensions import begin_write, db
from testimonials.projects import models
from testimonials.projects.configuration import defaults
from tests.auth.browsers import open_browser
from tests.conftest import Caller, MovableClock
from tests.support.rows import add_member

pytestmark = pytest.mark.sqlite

JSON = {"Accept": "application/json"}
STATIC = Path(testimonials.__file__).parent / "static"
OTHER: dict[str, Any] = {
    "theme": "dark",
    "layout": "carousel",
    "animation": "vertical",
    "palette": "rose",
    "cardStyle": "stripe",
    "initialCount": 50,
    "showStars": False,
    "showDates": False,
    "showSource": False,
    "showCtaButton": False,
}

NO_BUTTON_OF_ONES_OWN = {"ctaLabel": "", "ctaUrl": ""}


@pytest.fixture
def browser(app: Flask, owner: Caller) -> FlaskClient:
    """The owner's browser."""
    return open_browser(app, owner)


@pytest.fixture
def project(owner: Caller) -> str:
    """The id of the owner's project, with one testimonial."""
    project_id: str = owner.create_project(slug="fern", businessName="Fern")["_id"]
    owner.create_testimonial(project_id, text="Words </script> that are shown.")
    return project_id


def path(project_id: str, rest: str = "") -> str:
    return f"/dashboard/projects/{project_id}/widget{rest}"


def stored(client: FlaskClient, project_id: str) -> dict[str, Any]:
    """Return the settings as the world's widget gets them."""
    config: dict[str, Any] = client.get(f"/widget/{project_id}/feed").json["config"]  # type: ignore[index]
    return config


def version(app: Flask, project_id: str) -> int:
    with app.app_context():
        found = db.session.get(models.Project, project_id)
        assert found is not None
        return found.feed_version


def as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def save(browser: FlaskClient, project_id: str, **changes: object) -> TestResponse:
    """Save as the script does."""
    data = {name: as_text(value) for name, value in changes.items()}
    return browser.post(path(project_id), data=data, headers=JSON)


def read_form(page: str) -> dict[str, list[str]]:
    """Return what a browser without script would send of the page as it stands."""
    form = page.partition("data-editor")[2].partition("</form>")[0]
    values: dict[str, list[str]] = {}
    for tag in re.findall(r"<input[^>]*>", form):
        attributes = dict(re.findall(r"""([\w-]+)=(?:"([^"]*)"|'[^']*')""", tag))
        is_off = attributes["type"] in ("radio", "checkbox") and not re.search(r"\bchecked\b", tag)
        if attributes["name"] == "before" or is_off:
            continue
        values.setdefault(attributes["name"], []).append(attributes["value"])
    before = re.search(r"name=\"before\" value='([^']*)'", page)
    assert before
    return values | {"before": [before[1].replace("&#34;", '"')]}


def doors(project_id: str) -> list[tuple[str, str]]:
    return [
        ("GET", path(project_id)),
        ("POST", path(project_id)),
        ("POST", path(project_id, "/reset")),
        ("POST", path(project_id, "/undo")),
        ("GET", path(project_id, "/preview")),
    ]


def test_a_moderator_may_not_and_an_admin_may(
    app: Flask, owner: Caller, outsider: Caller, project: str
) -> None:
    colleague = open_browser(app, outsider)
    add_member(app, project, outsider, "moderator")
    before = version(app, project)
    for method, address in doors(project):
        answer = colleague.open(address, method=method, data={"palette": "rose"})
        assert answer.status_code == 403, address
        assert "Ask the project’s owner" in answer.text
        assert "that are shown" not in answer.text
    assert version(app, project) == before
    with app.app_context():
        begin_write()
        found = db.session.get(models.ProjectMember, (project, outsider.account_id))
        assert found is not None
        found.role = "admin"
        db.session.commit()
    for method, address in doors(project):
        answer = colleague.open(address, method=method, data={"palette": "rose"})
        assert answer.status_code in (200, 303), address


@pytest.mark.parametrize("name", OTHER)
def test_each_setting_saves_and_nothing_else_changes(
    app: Flask, client: FlaskClient, browser: FlaskClient, project: str, name: str
) -> None:
    before, config = version(app, project), stored(client, project)
    answer = save(browser, project, **{name: OTHER[name]})
    assert answer.status_code == 200
    assert stored(client, project) == config | {name: OTHER[name]}
    assert answer.json == {"ok": True, "config": stored(client, project) | NO_BUTTON_OF_ONES_OWN}
    assert version(app, project) > before
    # What is shown in the editor then is what was saved.
    form = read_form(browser.get(path(project)).text)
    assert form[name][-1] == as_text(OTHER[name])


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("theme", "sepia", "Choose one of the options."),
        ("layout", "", "Fill this in."),
        ("animation", "None", "Choose one of the options."),
        ("palette", "\0", "Choose one of the options."),
        ("cardStyle", "<b>", "Choose one of the options."),
        ("initialCount", "2", "Must be a whole number from 3 to 50."),
        ("initialCount", "51", "Must be a whole number from 3 to 50."),
        ("initialCount", "9.5", "Must be a whole number from 3 to 50."),
        ("initialCount", "", "Fill this in."),
        ("initialCount", "9" * 5000, "Must be a whole number from 3 to 50."),
        ("showStars", "", "Fill this in."),
    ],
)
def test_a_bad_value_is_refused_with_the_rule(
    app: Flask,
    client: FlaskClient,
    browser: FlaskClient,
    project: str,
    name: str,
    value: str,
    rule: str,
) -> None:
    before, config = version(app, project), stored(client, project)
    answer = save(browser, project, **{"showDates": False, name: value})
    assert answer.status_code == 422
    assert rule in answer.json["errors"][name][0]  # type: ignore[index]
    assert rule in answer.json["message"]  # type: ignore[index]
    page = browser.post(path(project), data={"showDates": "false", name: value})
    assert page.status_code == 422
    assert page.text.count(rule) == 2, "once in the summary, once at the control"
    assert f'id="editor-{name}-error"' in page.text
    target = re.search(rf'<li><a href="#([\w-]+)">{rule}', page.text)
    assert target
    assert f'id="{target[1]}"' in page.text
    # The rest of what was sent is still there.
    assert read_form(page.text)["showDates"] == ["false"]
    assert stored(client, project) == config
    assert version(app, project) == before


def test_the_whole_form_without_a_script(
    client: FlaskClient, browser: FlaskClient, project: str
) -> None:
    form = read_form(browser.get(path(project)).text)
    assert form.keys() == OTHER.keys() | NO_BUTTON_OF_ONES_OWN.keys() | {"before"}
    form |= {name: [as_text(value)] for name, value in OTHER.items()}
    answer = browser.post(path(project), data=form)
    assert answer.status_code == 303
    page = browser.get(answer.headers["Location"]).text
    assert '<p dir="auto" data-toast-text>Saved</p>' in page
    assert stored(client, project) == OTHER
    # Sent as it stands, a form changes nothing.
    assert browser.post(path(project), data=read_form(page)).status_code == 303
    assert stored(client, project) == OTHER


def test_two_people_with_different_settings_keep_both(
    app: Flask, client: FlaskClient, owner: Caller, browser: FlaskClient, project: str
) -> None:
    second = open_browser(app, owner)
    first_form = read_form(browser.get(path(project)).text)
    second_form = read_form(second.get(path(project)).text)
    browser.post(path(project), data=first_form | {"palette": ["sky"]})
    second.post(path(project), data=second_form | {"cardStyle": ["outlined"]})
    answer = save(browser, project, initialCount=12)
    assert answer.status_code == 200
    changed = {"palette": "sky", "cardStyle": "outlined", "initialCount": 12}
    assert stored(client, project) == defaults.WIDGET_CONFIG | changed
    # The script learns what somebody else has changed.
    assert answer.json["config"] == stored(client, project) | NO_BUTTON_OF_ONES_OWN  # type: ignore[index]


@pytest.mark.parametrize("before", ["", "nonsense", "[]", "{", '{"palette": 5}', "null"])
def test_a_form_that_does_not_say_what_it_showed_counts_as_it_is(
    client: FlaskClient, browser: FlaskClient, project: str, before: str
) -> None:
    browser.post(path(project), data={"palette": "amber", "before": before})
    assert stored(client, project)["palette"] == "amber"


def test_saving_the_same_again_is_no_change(
    app: Flask, browser: FlaskClient, project: str, moved_clock: MovableClock
) -> None:
    save(browser, project, palette="rose")
    before = version(app, project)
    moved_clock.move(minutes=1)
    assert save(browser, project, palette="rose").status_code == 200
    assert save(browser, project).status_code == 200
    assert version(app, project) == before


def test_reset_and_undo_without_a_script(
    app: Flask, client: FlaskClient, browser: FlaskClient, project: str
) -> None:
    save(browser, project, **OTHER)
    before = version(app, project)
    answer = browser.post(path(project, "/reset"))
    assert answer.status_code == 303
    assert stored(client, project) == defaults.WIDGET_CONFIG
    assert version(app, project) > before
    page = browser.get(answer.headers["Location"]).text
    assert "Back to the defaults" in page
    token = re.search(r'name="undo" value="([^"]+)"', page)
    assert token
    # What was changed since the reset is kept.
    save(browser, project, palette="sky")
    answer = browser.post(path(project, "/undo"), data={"undo": token[1]})
    assert answer.status_code == 303
    assert "Your settings are back" in browser.get(answer.headers["Location"]).text
    assert stored(client, project) == OTHER | {"palette": "sky"}


def test_undo_takes_only_its_own_tokens_for_an_hour(
    app: Flask,
    client: FlaskClient,
    owner: Caller,
    browser: FlaskClient,
    project: str,
    moved_clock: MovableClock,
) -> None:
    other = owner.create_project(slug="other")["_id"]
    save(browser, other, palette="rose")
    location = browser.post(path(other, "/reset")).headers["Location"]
    foreign = location.partition("undo=")[2]
    before = version(app, project)
    for token in (foreign, foreign[:-2], "", "x.y.z"):
        answer = browser.post(path(project, "/undo"), data={"undo": token})
        assert answer.headers["Location"] == path(project)
        assert (
            "data-undo"
            not in browser.get(path(project, f"?undo={token}")).text.split("<template")[0]
        )
    assert version(app, project) == before
    moved_clock.move(minutes=61)
    browser.post(path(other, "/undo"), data={"undo": foreign})
    assert stored(client, other)["palette"] == "neutral"


def test_the_preview_has_the_real_script_and_the_projects_own_data(
    client: FlaskClient, owner: Caller, browser: FlaskClient, project: str
) -> None:
    for number in range(60):
        owner.create_testimonial(project, text=f"Number {number}")
    save(browser, project, initialCount=3)
    answer = browser.get(path(project, "/preview"))
    assert answer.headers["Cache-Control"] == "no-store"
    assert '<script src="/widget/v1.js" defer></script>' in answer.text
    data = json.loads(answer.text.partition('id="feed">')[2].partition("</script>")[0])
    public = client.get(f"/widget/{project}/feed").json
    assert public is not None
    assert len(data["items"]) == 50
    assert data["items"][:3] == public["items"]
    assert {**data, "items": 0, "next": 0} == {**public, "items": 0, "next": 0}
    # The rest comes from the public feed, by the cursor that the preview got.
    following = client.get(f"/widget/{project}/feed?after={data['next']}").json
    assert following is not None
    assert following["items"][0]["text"] == "Number 9"


def test_words_can_not_end_the_data_of_the_preview(browser: FlaskClient, project: str) -> None:
    page = browser.get(path(project, "/preview")).text
    assert page.count("</script>") == 3
    assert "Words </script>" not in page


def test_who_frames_what(browser: FlaskClient, project: str) -> None:
    def policy(rest: str) -> str:
        return browser.get(path(project, rest)).headers["Content-Security-Policy"]

    assert "frame-src 'self'; frame-ancestors 'none'" in policy("")
    assert "frame-src 'none'; frame-ancestors 'self'" in policy("/preview")


def test_swatches_have_the_widgets_own_colours() -> None:
    look = json.loads((STATIC / "widget" / "look.json").read_text())
    sheet = (STATIC / "css" / "dashboard" / "editors" / "editors.css").read_text()
    names = look["names"].split()
    for palette in defaults.PALETTES:
        light, dark = (look["palettes"][palette][theme].split() for theme in ("light", "dark"))
        rule = sheet.partition(f".palette-{palette},")[2].partition("}")[0].lower()
        for name in ("accent", "solid", "on", "soft", "tint"):
            index = names.index(name)
            value = f"--p-{name}: light-dark(#{light[index]}, #{dark[index]})"
            assert value in rule, (palette, name)


def button(client: FlaskClient, project_id: str) -> dict[str, str]:
    """Return the button as the world's widget gets it."""
    found: dict[str, str] = client.get(f"/widget/{project_id}/feed").json["cta"]  # type: ignore[index]
    return found


DEFAULT_BUTTON = {
    "label": "Share your experience",
    "url": "https://testimonials.example.com/fern",
}


def test_the_button_has_words_and_a_target_of_ones_own(
    app: Flask, client: FlaskClient, browser: FlaskClient, project: str
) -> None:
    before, config = version(app, project), stored(client, project)
    page = browser.get(path(project)).text
    assert f'placeholder="{DEFAULT_BUTTON["label"]}"' in page
    assert "<bdi data-cta-target>your collection page</bdi>" in page
    # Each is saved by itself, and keeps the other.
    assert save(browser, project, ctaLabel=" Book a chair ").status_code == 200
    assert button(client, project) == DEFAULT_BUTTON | {"label": "Book a chair"}
    answer = save(browser, project, ctaUrl="fern.example/book?a=1&b=2")
    own = {"label": "Book a chair", "url": "https://fern.example/book?a=1&b=2"}
    assert button(client, project) == own
    assert answer.json["config"]["ctaUrl"] == own["url"]  # type: ignore[index]
    assert stored(client, project) == config
    assert version(app, project) > before
    page = browser.get(path(project)).text
    assert read_form(page)["ctaLabel"] == ["Book a chair"]
    assert "<bdi data-cta-target>fern.example/book?a=1&amp;b=2</bdi>" in page
    # Saving the same again is no change; empty is what every project has.
    before = version(app, project)
    save(browser, project, ctaLabel="Book a chair", ctaUrl=own["url"])
    assert version(app, project) == before
    save(browser, project, ctaLabel="  ")
    assert button(client, project) == own | {"label": DEFAULT_BUTTON["label"]}
    save(browser, project, ctaUrl="")
    assert button(client, project) == DEFAULT_BUTTON


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("ctaLabel", "ä" * 61, "Shorten this to 60 characters; it has 61."),
        ("ctaLabel", "a\nb", "Write this on one line."),
        ("ctaLabel", "a\0b", "Remove the control characters from this."),
        ("ctaUrl", "javascript:alert(1)", "Write a web address, such as example.com."),
        ("ctaUrl", "ftp://fern.example", "Write a web address, such as example.com."),
        ("ctaUrl", "two words", "Write a web address, such as example.com."),
        ("ctaUrl", "https://fern.example/" + "x" * 500, "Shorten this to 500 characters"),
    ],
)
def test_a_button_that_leads_nowhere_is_refused(
    app: Flask,
    client: FlaskClient,
    browser: FlaskClient,
    project: str,
    name: str,
    value: str,
    rule: str,
) -> None:
    before = version(app, project)
    answer = save(browser, project, **{"palette": "rose", name: value})
    assert answer.status_code == 422
    assert rule in answer.json["errors"][name][0]  # type: ignore[index]
    page = browser.post(path(project), data={name: value, "initialCount": "99"})
    assert page.status_code == 422
    assert page.text.count(rule) == 2, "once in the summary, once at the field"
    assert f'<a href="#editor-{name}">{rule}' in page.text
    assert f'id="editor-{name}-error"' in page.text
    # With what else is wrong.
    assert "Must be a whole number from 3 to 50." in page.text
    assert button(client, project) == DEFAULT_BUTTON
    assert version(app, project) == before


def test_the_button_in_the_form_without_a_script(
    client: FlaskClient, browser: FlaskClient, project: str
) -> None:
    form = read_form(browser.get(path(project)).text)
    own = {"ctaLabel": ["<b>Book & go</b>"], "ctaUrl": ["https://fern.example/"]}
    assert browser.post(path(project), data=form | own).status_code == 303
    assert button(client, project) == {"label": own["ctaLabel"][0], "url": own["ctaUrl"][0]}
    # An older form, in which only the palette was changed, leaves the button alone.
    browser.post(path(project), data=form | {"palette": ["sky"]})
    assert button(client, project)["label"] == own["ctaLabel"][0]
    assert "<b>" not in browser.get(path(project)).text


def test_reset_puts_the_button_back_and_undo_too(
    client: FlaskClient, browser: FlaskClient, project: str
) -> None:
    save(browser, project, ctaLabel="Book", ctaUrl="https://fern.example/")
    location = browser.post(path(project, "/reset")).headers["Location"]
    assert button(client, project) == DEFAULT_BUTTON
    token = re.search(r'name="undo" value="([^"]+)"', browser.get(location).text)
    assert token
    # What was changed since the reset is kept.
    save(browser, project, ctaLabel="Newer")
    browser.post(path(project, "/undo"), data={"undo": token[1]})
    assert button(client, project) == {"label": "Newer", "url": "https://fern.example/"}
