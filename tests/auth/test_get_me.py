"""GET /v1/me: the credential check (spec, "GET /v1/me" and "Authentication")."""

from flask.testing import FlaskClient

from tests.conftest import Caller


def test_gives_account_id_and_email(owner: Caller) -> None:
    answer = owner.get("/v1/me")
    assert answer.status_code == 200
    assert answer.json == {
        "message": "OK",
        "data": {"accountId": owner.account_id, "email": "owner@example.com"},
    }


def test_missing_headers_are_401(client: FlaskClient) -> None:
    answer = client.get("/v1/me")
    assert answer.status_code == 401
    assert set(answer.json) == {"message", "code"}


def test_another_accounts_key_is_401(owner: Caller, outsider: Caller) -> None:
    headers = owner.headers | {"x-api-key": outsider.api_key}
    assert owner.client.get("/v1/me", headers=headers).status_code == 401
