"""PATCH /v1/projects/:id/widget-config (spec, "PATCH /v1/projects/:id/widget-config")."""

from typing import Any

import pytest

from testimonials.projects.widget_design import DEFAULTS
from tests.conftest import Caller
from tests.support.rows import change_project

pytestmark = pytest.mark.postgres

ALLOWED: dict[str, tuple[object, ...]] = {
    "theme": ("light", "dark"), "layout": ("masonry", "carousel", "list"),
    "animation": ("none", "horizontal", "vertical"),
    "palette": ("neutral", "indigo", "emerald", "amber", "rose", "sky"),
    "cardStyle": ("default", "quote", "stripe", "gradient", "outlined"),
    "initialCount": (3, 4, 49, 50), "showStars": (True, False), "showDates": (True, False),
    "showSource": (True, False), "showCtaButton": (True, False),
}  # fmt: skip


@pytest.fixture
def project(owner: Caller) -> dict[str, Any]:
    return owner.create_project()


def _path(project: dict[str, Any]) -> str:
    return f"/v1/projects/{project['_id']}/widget-config"


def test_every_allowed_value_is_taken_and_read_back(owner, project):
    config = project["widgetConfig"]
    for name, values in ALLOWED.items():
        for value in values:
            answer = owner.patch(_path(project), {name: value})
            assert answer.status_code == 200
            config[name] = value
            assert answer.json["data"]["widgetConfig"] == config
            read = owner.get(f"/v1/projects/{project['_id']}").json["data"]
            assert read == answer.json["data"]


def test_only_fields_sent_are_changed(owner, project):
    url = f"/widget/{project['_id']}/feed"
    first = owner.client.get(url)
    owner.patch(_path(project), {"theme": "dark", "showStars": False})
    config = owner.patch(_path(project), {"palette": "sky"}).json["data"]["widgetConfig"]
    changed = {"theme": "dark", "showStars": False, "palette": "sky"}
    assert config == project["widgetConfig"] | changed
    now = owner.get(f"/v1/projects/{project['_id']}").json["data"]
    same = project.keys() - {"widgetConfig", "updatedAt"}
    assert {name: now[name] for name in same} == {name: project[name] for name in same}
    # The feed has the change in the very next answer.
    feed = owner.client.get(url, headers={"If-None-Match": first.headers["ETag"]})
    assert (feed.status_code, feed.json["config"]["palette"]) == (200, "sky")


def test_another_value_is_400_with_those_allowed(owner, project):
    for name, allowed in ALLOWED.items():
        says = "true or false" if True in allowed else ", ".join(map(str, allowed))
        says = "from 3 to 50" if name == "initialCount" else says
        for value in (2, 51, None, [], "purple"):
            answer = owner.patch(_path(project), {name: value})
            assert (answer.status_code, list(answer.json["errors"])) == (400, [name]), value
            assert says in answer.json["message"]


def test_updated_rises(owner, project, moved_clock):
    moved_clock.move(hours=-1)
    times = [project["updatedAt"]]
    for theme in ("dark", "light", "dark"):
        times.append(owner.patch(_path(project), {"theme": theme}).json["data"]["updatedAt"])
    assert times == sorted(set(times))


def test_the_dashboard_changes_design(app, owner, project):
    # The brand's font, where none was chosen.
    shown = DEFAULTS | {"font": "page"}
    assert project["widgetDesign"] == shown
    design = {"brandColor": "#C2410C", "layout": "spotlight", "labels": {"readMore": "Mehr"}}
    change_project(app, project["_id"], widget_design=design)
    path = f"/v1/projects/{project['_id']}"
    assert owner.get(path).json["data"]["widgetDesign"] == shown | design
    assert owner.patch(_path(project), {"brandColor": "#000000"}).status_code == 400
    assert owner.patch(_path(project), {"widgetDesign": {}}).status_code == 400
    # Other settings leave it alone; a layout that the key asks for is the one that shows.
    changed = owner.patch(_path(project), {"theme": "dark"}).json["data"]
    assert changed["widgetDesign"] == shown | design
    for change in ({"layout": "list"}, {"animation": "vertical"}):
        change_project(app, project["_id"], widget_design=design)
        changed = owner.patch(_path(project), change).json["data"]
        assert changed["widgetDesign"] == shown | design | {"layout": ""}
