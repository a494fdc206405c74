"""A program that connects by OAuth."""

import base64
import hashlib
import re
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

ISSUER = "https://testimonials.example.com"

REDIRECT_URI = "https://agent.example/callback"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode()


def register(client: FlaskClient, *redirect_uris: str, name: str = "Shop assistant") -> str:
    body = {"client_name": name, "redirect_uris": list(redirect_uris) or [REDIRECT_URI]}
    answer = client.post("/oauth/register", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json["client_id"])  # type: ignore[index]


def ask_to_connect(client: FlaskClient, **changes: str) -> dict[str, str]:
    asked = {
        "response_type": "code", "client_id": changes.pop("client_id", "") or register(client),
        "redirect_uri": REDIRECT_URI, "scope": "read draft publish", "state": "a state",
        "code_challenge": CHALLENGE.rstrip("="), "code_challenge_method": "S256",
        "resource": "https://testimonials.example.com/mcp",
    }  # fmt: skip
    return {name: value for name, value in (asked | changes).items() if value}


def consent(browser: FlaskClient, asked: dict[str, str], **choice: Any) -> TestResponse:
    """Open the page and press Allow, with what is ticked there unless told."""
    page = browser.get(f"/oauth/authorize?{urlencode(asked)}")
    assert page.status_code == 200, page.text
    ticked = re.findall(r'value="(\w+)" checked', page.text)
    carried = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page.text))
    assert carried == asked
    form = carried | {"scopes": ticked, "project": "all", "days": "90"} | choice
    return browser.post("/oauth/authorize", data=form)


def read_code(answer: TestResponse) -> str:
    assert answer.status_code == 303, answer.text
    where = urlsplit(answer.headers["Location"])
    fields = parse_qs(where.query)
    assert f"{where.scheme}://{where.netloc}{where.path}" == REDIRECT_URI
    assert (fields["state"], fields["iss"]) == (["a state"], [ISSUER])
    (code,) = fields["code"]
    return code


def exchange(
    client: FlaskClient, asked: dict[str, str], code: str, changes: dict[str, str] | None = None
) -> TestResponse:
    form = {
        "grant_type": "authorization_code", "client_id": asked["client_id"],
        "redirect_uri": asked["redirect_uri"], "code": code, "code_verifier": VERIFIER,
        "resource": f"{ISSUER}/mcp",
    }  # fmt: skip
    return client.post("/oauth/token", data=form | (changes or {}))
