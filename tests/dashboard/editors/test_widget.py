"""The widget editor: its draft, and what publishing it changes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

import testimonials
from testimonials.core.extensions import db
from testimonials.core.images.colors import NAMES as COLOURS
from testimonials.projects import defaults, models
from tests.auth.browsers import open_browser
from tests.conftest import Caller, MovableClock

BRAND_STARS = {"starColor": "brand"}
ONE = {"layout": "marquee", "marquee": "one"}
JSON = {"Accept": "application/json"}
STATIC = Path(testimonials.__file__).parent / "static"
# Another value of each control, and what it makes of the settings.
OTHER: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "theme": ("dark", {"theme": "dark"}, {}), "layout": ("carousel", {"layout": "carousel"}, {}),
    "palette": ("rose", {"palette": "rose"}, {}),
    "cardStyle": ("stripe", {"cardStyle": "stripe"}, {}),
    "initialCount": (50, {"initialCount": 50}, {}), "stars": ("off", {"showStars": False}, {}),
    "dates": ("off", {"showDates": False}, {}), "showSource": (False, {"showSource": False}, {}),
    "showCtaButton": (False, {"showCtaButton": False}, {}),
    "brandColor": ("#065F46", {}, {"brandColor": "#065F46"}),
    "font": ("serif", {}, {"font": "serif"}), "radius": (0, {}, {"radius": 0}),
    "density": ("airy", {}, {"density": "airy"}), "photoSize": (64, {}, {"photoSize": 64}),
    "cardWidth": ("wide", {}, {"cardWidth": "wide"}),
    "featured": ("solid", {}, {"featured": "solid"}),
    "showHeader": (True, {}, {"showHeader": True}),
    "showHighlights": (False, {}, {"showHighlights": False}),
    "order": ("best", {}, {"order": "best"}), "minRating": (4, {}, {"minRating": 4}),
    "minLength": (80, {}, {"minLength": 80}), "onlyChosen": (True, {}, {"onlyChosen": True}),
    "labelShowMore": ("And more", {}, {"labels": {"showMore": "And more"}}),
}  # fmt: skip
# Where one control stands for several settings.
COMBINED: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"stars": "brand"}, {}, {"starColor": "brand"}),
    ({"dates": "month"}, {}, {"dateStyle": "month"}),
    ({"layout": "spotlight"}, {}, {"layout": "spotlight"}),
    ({"layout": "marquee"}, {"layout": "carousel", "animation": "horizontal"}, {}),
    (ONE, {"layout": "carousel", "animation": "horizontal"}, {"marqueeRows": 1}),
    (ONE | {"marquee": "vertical"}, {"layout": "carousel", "animation": "vertical"}, {}),
    ({"look": "soft"}, {"cardStyle": "quote", "showDates": False}, {"radius": 24} | BRAND_STARS),
    ({"brandColor": "fc3"}, {}, {"brandColor": "#FFCC33"}),
]


@pytest.fixture
def project(owner: Caller) -> str:
    project_id: str = owner.create_project(slug="fern", businessName="Fern")["_id"]
    owner.create_testimonial(project_id, text="Words </script> that are shown.")
    return project_id


def path(project_id: str, rest: str = "") -> str:
    return f"/dashboard/projects/{project_id}/widget{rest}"


def stored(client: FlaskClient, project_id: str) -> dict[str, Any]:
    """Return the settings as the world's widget gets them."""
    config: dict[str, Any] = client.get(f"/widget/{project_id}/feed").json["config"]  # type: ignore[index]
    return config


def design(app: Flask, project_id: str) -> dict[str, Any]:
    """Return what of the published design differs from the defaults."""
    with app.app_context():
        return db.session.get(models.Project, project_id).widget_design


def version(app: Flask, project_id: str) -> int:
    with app.app_context():
        return db.session.get(models.Project, project_id).feed_version


def as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def save(browser: FlaskClient, project_id: str, **changes: object) -> TestResponse:
    """Save as the script does."""
    data = {name: as_text(value) for name, value in changes.items()}
    return browser.post(path(project_id), data=data, headers=JSON)


def publish(browser: FlaskClient, project_id: str) -> None:
    answer = browser.post(path(project_id, "/publish"), headers=JSON)
    assert answer.status_code == 200
    assert answer.json["values"] == answer.json["published"]  # type: ignore[index]


def read_form(page: str) -> dict[str, list[str]]:
    """Return what a browser without script would send of the page as it stands."""
    form = page.partition("data-editor")[2].partition("</form>")[0]
    values: dict[str, list[str]] = {}
    for tag in re.findall(r"<input[^>]*>", form):
        attributes = dict(re.findall(r"""([\w-]+)=(?:"([^"]*)"|'[^']*')""", tag))
        is_off = attributes["type"] in ("radio", "checkbox") and not re.search(r"\bchecked\b", tag)
        if attributes.get("name", "before") == "before" or is_off:
            continue
        values.setdefault(attributes["name"], []).append(attributes["value"])
    before = re.search(r"name=\"before\" value='([^']*)'", page)
    return values | {"before": [before[1].replace("&#34;", '"')]}


# Their values aren't in an `input`.
SELECTS = {"minRating"}


def test_one_control_may_stand_for_several_settings_or_replace_another(
    app: Flask, client: FlaskClient, browser: FlaskClient, project: str
) -> None:
    for changes, config, look in COMBINED:
        assert save(browser, project, **changes).status_code == 200
        publish(browser, project)
        assert stored(client, project) == defaults.WIDGET_CONFIG | config
        assert design(app, project) == look
        browser.post(path(project, "/reset"))
        publish(browser, project)
    save(browser, project, brandColor="#065F46", palette="rose")
    publish(browser, project)
    assert design(app, project) == {"brandColor": "#065F46"}
    form = read_form(browser.get(path(project)).text)
    browser.post(path(project), data=form | {"palette": ["sky"]})
    publish(browser, project)
    assert design(app, project) == {}


def test_a_draft_holds_only_what_is_changed(
    app: Flask, client: FlaskClient, owner: Caller, browser: FlaskClient, project: str
) -> None:
    save(browser, project, palette="sky", radius=0)
    save(browser, project, radius=16)
    assert "1 change to publish" in browser.get(path(project)).text
    # What the API changes meanwhile stays changed.
    body = {"cardStyle": "outlined", "theme": "dark"}
    assert owner.patch(f"/v1/projects/{project}/widget-config", body).status_code == 200
    publish(browser, project)
    assert stored(client, project) == defaults.WIDGET_CONFIG | body | {"palette": "sky"}
    before = version(app, project)
    publish(browser, project)
    assert version(app, project) == before, "there was nothing to publish"


def test_an_order_by_hand_stays_through_drafts(
    app: Flask, owner: Caller, browser: FlaskClient, project: str
) -> None:
    chosen = owner.create_testimonial(project, text="Chosen.")["_id"]
    save(browser, project, order="best", radius=0, font="serif")
    save(browser, project, font="page")
    browser.post(f"/dashboard/projects/{project}/order", data={"do": f"add {chosen}"})
    by_hand = {"order": "hand", "chosen": [chosen]}
    assert design(app, project) == by_hand
    publish(browser, project)
    assert design(app, project) == by_hand | {"radius": 0, "font": "page"}
    browser.post(path(project, "/reset"))
    publish(browser, project)
    assert design(app, project) == {"chosen": [chosen]}


REFUSED = (
    ("theme", "sepia", "Choose one of the options."),
    ("layout", "", "Fill this in."),
    ("look", "<b>", "Must be one of"),
    ("brandColor", "blue", "Write a colour such as #4F46E5."),
    ("radius", "13", "Must be one of: 16, 0, 6, 12, 24."),
    ("minRating", "6", "Must be a whole number from 0 to 5."),
    ("minLength", "2001", "Must be a whole number from 0 to 2000."),
    ("tags", ",".join(map(str, range(21))), "Choose at most 20 tags."),
    ("labelReadMore", "x" * 61, "Shorten this to 60 characters; it has 61."),
    ("palette", "\0", "Choose one of the options."),
    ("initialCount", "2", "Must be a whole number from 3 to 50."),
    ("initialCount", "51", "Must be a whole number from 3 to 50."),
    ("initialCount", "9" * 5000, "Must be a whole number from 3 to 50."),
    ("showHeader", "", "Fill this in."),
    # A button leads somewhere, and says so in a few words.
    ("ctaLabel", "ä" * 61, "Shorten this to 60 characters; it has 61."),
    ("ctaLabel", "a\nb", "Write this on one line."),
    ("ctaLabel", "a\0b", "Remove the control characters from this."),
    ("ctaUrl", "javascript:alert(1)", "Write a web address, such as example.com."),
    ("ctaUrl", "ftp://fern.example", "Write a web address, such as example.com."),
    ("ctaUrl", "two words", "Write a web address, such as example.com."),
    ("ctaUrl", "https://fern.example/" + "x" * 500, "Shorten this to 500 characters"),
)


def test_a_bad_value_is_refused_with_the_rule(
    app: Flask, client: FlaskClient, browser: FlaskClient, project: str
) -> None:
    before, shown = version(app, project), stored(client, project)
    for name, value, rule in REFUSED:
        answer = save(browser, project, **{"showSource": False, name: value})
        assert answer.status_code == 422
        assert rule in answer.json["errors"][name][0]  # type: ignore[index]
        assert rule in answer.json["message"]  # type: ignore[index]
        page = browser.post(path(project), data={"showSource": "false", name: value})
        assert page.status_code == 422
        assert rule in page.text.replace(f'data-say-colour="{rule}', "")
        # The rest of what was sent is still there.
        assert read_form(page.text)["showSource"] == ["false"]
    several = browser.post(path(project), data={"ctaUrl": "x y", "initialCount": "99"}).text
    assert "Write a web address, such as example.com." in several
    assert "Must be a whole number from 3 to 50." in several
    publish(browser, project)
    assert (stored(client, project), button(client, project)) == (shown, DEFAULT_BUTTON)
    assert version(app, project) == before


def test_the_whole_form_without_a_script(
    app: Flask, client: FlaskClient, browser: FlaskClient, project: str
) -> None:
    before, page = version(app, project), browser.get(path(project)).text
    form = read_form(page)
    assert form.keys() | SELECTS | {"look", "palette", "font"} >= OTHER.keys()
    assert "published" not in page.partition("data-toast-text")[2][:80]
    form |= {name: [as_text(value)] for name, (value, *_) in OTHER.items()}
    answer = browser.post(path(project), data=form)
    assert answer.status_code == 303
    page = browser.get(answer.headers["Location"]).text
    assert '<p dir="auto" data-toast-text>Draft saved</p>' in page
    # Visitors, the API and caches know nothing of it.
    assert stored(client, project) == defaults.WIDGET_CONFIG
    assert version(app, project) == before
    # Sent as it stands by the other button, the form publishes what was saved.
    answer = browser.post(path(project), data=read_form(page) | {"publish": ["1"]})
    assert "Published. Visitors see it now." in browser.get(answer.headers["Location"]).text
    wanted, looks = dict(defaults.WIDGET_CONFIG), {}
    for _, config, look in OTHER.values():
        wanted |= config
        looks |= look
    assert (stored(client, project), design(app, project)) == (wanted, looks)
    assert version(app, project) > before


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
    # The script learns what somebody else has changed.
    assert answer.json["values"] == answer.json["published"] | changed  # type: ignore[index]
    publish(browser, project)
    assert stored(client, project) == defaults.WIDGET_CONFIG | changed


def test_a_form_counts_as_it_is(client: FlaskClient, browser: FlaskClient, project: str) -> None:
    for number, before in enumerate(("", "nonsense", "[]", "{", '{"palette": 5}', "null")):
        palette = ("amber", "rose")[number % 2]
        browser.post(path(project), data={"palette": palette, "before": before, "publish": "1"})
        assert stored(client, project)["palette"] == palette, before


@pytest.mark.parametrize("action", ["reset", "discard"])
def test_reset_and_discard_and_undo_without_a_script(
    client: FlaskClient, browser: FlaskClient, project: str, action: str
) -> None:
    save(browser, project, cardStyle="stripe", ctaLabel="Book")
    publish(browser, project)
    save(browser, project, theme="dark", radius=0, ctaUrl="https://fern.example/")
    draft = read_form(browser.get(path(project)).text)
    answer = browser.post(path(project, f"/{action}"))
    assert answer.status_code == 303
    page = browser.get(answer.headers["Location"]).text
    form = read_form(page)
    assert (form["theme"], form["radius"], form["ctaUrl"]) == (["light"], ["16"], [""])
    assert form["cardStyle"] == ["default" if action == "reset" else "stripe"]
    assert ("Back to the defaults" if action == "reset" else "are discarded") in page
    token = re.search(r'name="undo" value="([^"]+)"', page)
    # What was changed since then is kept.
    save(browser, project, palette="sky")
    answer = browser.post(path(project, "/undo"), data={"undo": token[1]})
    assert answer.status_code == 303
    page = browser.get(answer.headers["Location"]).text
    assert "Your settings are back" in page
    assert read_form(page) | {"before": []} == draft | {"palette": ["sky"], "before": []}
    # Visitors have seen nothing of all this.
    assert stored(client, project) == defaults.WIDGET_CONFIG | {"cardStyle": "stripe"}
    assert button(client, project) == DEFAULT_BUTTON | {"label": "Book"}


def test_undo_takes_only_its_own_tokens_for_an_hour(
    owner: Caller, browser: FlaskClient, project: str, moved_clock: MovableClock
) -> None:
    other = owner.create_project(slug="other")["_id"]
    save(browser, other, palette="rose")
    foreign = browser.post(path(other, "/reset")).headers["Location"].partition("undo=")[2]
    before = browser.get(path(project)).text
    for token in (foreign, foreign[:-2], "", "x.y.z"):
        answer = browser.post(path(project, "/undo"), data={"undo": token})
        assert answer.headers["Location"] == path(project)
        page = browser.get(path(project, f"?undo={token}")).text
        assert "data-undo" not in page.split("<template")[0]
    assert read_form(browser.get(path(project)).text) == read_form(before)
    moved_clock.move(minutes=61)
    browser.post(path(other, "/undo"), data={"undo": foreign})
    assert "palette" not in read_form(browser.get(path(other)).text)


def test_colours_are_explained(client: FlaskClient, browser: FlaskClient, project: str) -> None:
    answer = browser.get(path(project, "/colours?hex=%23065f46"))
    notes = answer.json["notes"]  # type: ignore[index]
    assert notes["light"] == {"text": "White on it reads at 7.7 to 1", "changes": []}
    assert "Lightened" in notes["dark"]["changes"][0]["reason"]
    assert len(answer.json["light"].split()) == len(answer.json["dark"].split()) == 20  # type: ignore[index]
    answer = browser.get(path(project, "/colours?hex=%23FACC15"))
    assert answer.json["notes"]["light"]["text"].startswith("Dark words on it read at 1")  # type: ignore[index]
    # What the preview makes of stars in the brand's colour is what visitors will get.
    save(browser, project, stars="brand", brandColor="#FACC15")
    publish(browser, project)
    feed = client.get(f"/widget/{project}/feed").json
    for theme in ("light", "dark"):
        star = answer.json["stars"][theme][1:].lower()  # type: ignore[index]
        colours = answer.json[theme].split()  # type: ignore[index]
        colours[COLOURS.index("star")] = star
        assert feed["colours"][theme] == " ".join(colours)
    save(browser, project, stars="gold", brandColor="")
    usual = browser.get(path(project, "/colours")).json
    assert usual == browser.get(path(project, "/colours?hex=%230F766E")).json
    for wrong in ("", "blue", "%23FFF", "<b>"):
        assert browser.get(path(project, f"/colours?hex={wrong}")).status_code == 422


def test_the_preview_has_the_real_script_and_the_projects_own_data(
    client: FlaskClient, owner: Caller, browser: FlaskClient, project: str
) -> None:
    for number in range(60):
        owner.create_testimonial(project, text=f"Number {number}")
    save(browser, project, initialCount=3)
    publish(browser, project)
    answer = browser.get(path(project, "/preview"))
    assert answer.headers["Cache-Control"] == "no-store"
    assert '<script src="/widget/v1.js" defer></script>' in answer.text
    data = json.loads(answer.text.partition('id="feed">')[2].partition("</script>")[0])
    public = client.get(f"/widget/{project}/feed").json
    assert (len(data["items"]), data["items"][:3]) == (50, public["items"])
    same = public.keys() - {"items", "next"}
    assert {name: data[name] for name in same} == {name: public[name] for name in same}
    # The rest comes from the public feed, by the cursor that the preview got.
    following = client.get(f"/widget/{project}/feed?after={data['next']}").json
    assert following["items"][0]["text"] == "Number 9"


def test_the_preview_shows_what_is_not_saved_yet_and_no_words_end_its_data(
    client: FlaskClient, owner: Caller, browser: FlaskClient, project: str
) -> None:
    owner.create_testimonial(project, text="Rated.", rating=5)
    before = read_form(browser.get(path(project)).text)
    feed = browser.post(path(project, "/preview"), data={"theme": "dark", "radius": "0"}).json
    assert (feed["config"]["theme"], feed["design"]["radius"]) == ("dark", 0)
    refused = browser.post(path(project, "/preview"), data={"minRating": "9"})
    assert (refused.status_code, read_form(browser.get(path(project)).text)) == (422, before)
    assert stored(client, project)["theme"] == "light"
    page = browser.get(path(project, "/preview")).text
    assert page.count("</script>") == 3
    assert "Words </script>" not in page


def button(client: FlaskClient, project_id: str) -> dict[str, str]:
    found: dict[str, str] = client.get(f"/widget/{project_id}/feed").json["cta"]  # type: ignore[index]
    return found


DEFAULT_BUTTON = {"label": "Share your experience", "url": "https://testimonials.example.com/fern"}


def test_the_button_has_own_words(client: FlaskClient, browser: FlaskClient, project: str) -> None:
    page = browser.get(path(project)).text
    assert f'placeholder="{DEFAULT_BUTTON["label"]}"' in page
    assert "<bdi data-cta-target>your collection page</bdi>" in page
    # Each is saved by itself, and keeps the other.
    assert save(browser, project, ctaLabel=" Book a chair ").status_code == 200
    answer = save(browser, project, ctaUrl="fern.example/book?a=1&b=2")
    own = {"label": "Book a chair", "url": "https://fern.example/book?a=1&b=2"}
    assert answer.json["values"]["ctaUrl"] == own["url"]  # type: ignore[index]
    page = browser.get(path(project)).text
    assert read_form(page)["ctaLabel"] == ["Book a chair"]
    assert "<bdi data-cta-target>fern.example/book?a=1&amp;b=2</bdi>" in page
    assert button(client, project) == DEFAULT_BUTTON
    publish(browser, project)
    assert button(client, project) == own
    # Empty is what every project has.
    save(browser, project, ctaLabel="  ", ctaUrl="")
    assert button(client, project) == own
    publish(browser, project)
    assert button(client, project) == DEFAULT_BUTTON


def test_a_saved_widget_is_edited_by_itself(
    client: FlaskClient, browser: FlaskClient, project: str
) -> None:
    browser.post(f"/dashboard/projects/{project}/widgets", data={"name": "home"})
    page = browser.get(path(project)).text
    assert f'href="{path(project)}?widget=home"' in page
    page = browser.get(path(project, "?widget=home")).text
    assert "Its label and link are those of the first widget." in page
    data = {"shape": "strip", "cardStyle": "quote", "minRating": "4"}
    assert browser.post(path(project, "?widget=home"), data=data, headers=JSON).status_code == 200
    feed = client.get(f"/widget/{project}/feed?widget=home").json
    assert feed["config"] == defaults.WIDGET_CONFIG
    answer = browser.post(path(project, "/publish?widget=home"))
    assert answer.headers["Location"].startswith(path(project, "?widget=home"))
    feed = client.get(f"/widget/{project}/feed?widget=home").json
    assert (feed["shape"], feed["config"]["cardStyle"], feed["items"]) == ("strip", "quote", [])
    assert stored(client, project) == defaults.WIDGET_CONFIG
    for method, rest in (("GET", ""), ("POST", ""), ("GET", "/preview"), ("POST", "/publish")):
        answer = browser.open(path(project, f"{rest}?widget=unknown"), method=method)
        assert answer.status_code == 404
