"""GET /v1/projects/:id/embed-snippet (spec, "GET /v1/projects/:id/embed-snippet")."""

import re
from html.parser import HTMLParser
from typing import Any

from tests.conftest import Caller

BASE = "https://testimonials.example.com"


class Elements(HTMLParser):
    """The start tags of a piece of HTML, with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes)))


def _snippet(caller: Caller, project_id: str) -> dict[str, Any]:
    answer = caller.get(f"/v1/projects/{project_id}/embed-snippet")
    assert (answer.status_code, set(answer.json)) == (200, {"message", "data"})
    return dict(answer.json["data"])


def test_gives_project_id_widget_url_script_and_container(owner):
    project_id = owner.create_project(businessName="<script>alert(1)</script>")["_id"]
    snippet = _snippet(owner, project_id)
    assert set(snippet) == {"projectId", "widgetUrl", "script", "container"}
    address = f"{BASE}/widget/v1.js?project={project_id}"
    assert (snippet["projectId"], snippet["widgetUrl"]) == (project_id, address)
    assert Elements(snippet["script"]).found == [
        ("script", {"src": snippet["widgetUrl"], "async": None})
    ]
    assert snippet["script"].endswith("</script>")
    (div, attributes), *inside = Elements(snippet["container"]).found
    assert (div, attributes["data-testimonials-project"]) == ("div", project_id)
    assert re.fullmatch(r"min-height:(\d+px);--tm-reserve:\1", attributes["style"] or "")
    # Until the script has them, there is a link to the same testimonials; without it, a frame.
    page = f"{BASE}/widget/{project_id}"
    assert inside[0] == ("a", {"href": page})
    assert [tag for tag, _ in inside[1:]] == ["noscript", "iframe"]
    assert inside[2][1]["src"] == page
    # Nothing that people typed is in it.
    assert "alert" not in snippet["script"] + snippet["container"]
    url = _snippet(owner, project_id)["widgetUrl"].removeprefix(BASE)
    script = owner.client.get(url)
    assert script.status_code == 200
    assert script.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert script.headers["Access-Control-Allow-Origin"] == "*"
    unchanged = owner.client.get(url, headers={"If-None-Match": script.headers["ETag"]})
    assert (unchanged.status_code, unchanged.data) == (304, b"")
    assert owner.client.get(f"/widget/{project_id}").status_code == 200


def test_the_addresses_are_those_of_base_url(make_app, owner):
    project_id = owner.create_project()["_id"]
    other = make_app(base_url="https://api.example.org:8443").test_client()
    caller = Caller(other, owner.account_id, owner.email, owner.api_key)
    answer = caller.get(f"/v1/projects/{project_id}/embed-snippet", base_url="https://evil.example")
    script = f"https://api.example.org:8443/widget/v1.js?project={project_id}"
    assert answer.json["data"]["widgetUrl"] == script
    assert "evil.example" not in answer.text
