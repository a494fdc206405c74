"""GET /v1/projects/:id/embed-snippet (spec, "GET /v1/projects/:id/embed-snippet")."""

import re
from typing import Any

from tests.conftest import Caller

BASE = "https://testimonials.example.com"


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
    assert snippet["script"] == f'<script src="{address}" async></script>'
    # Until the script has them, there is a link to the same testimonials; without it, a frame.
    page = re.escape(f"{BASE}/widget/{project_id}")
    assert re.fullmatch(
        rf'<div data-testimonials-project="{project_id}" '
        r'style="width:100%;min-height:(\d+px);--tm-reserve:\1">'
        rf'<a href="{page}">[^<]+</a><noscript><iframe src="{page}" [^<>]+></iframe></noscript>'
        "</div>",
        snippet["container"],
    )
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
