"""A program that connects by OAuth."""

import base64
import hashlib

from flask.testing import FlaskClient

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
