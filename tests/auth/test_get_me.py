"""GET /v1/me: the credential check (spec, "GET /v1/me" and "Authentication")."""

from tests.conftest import Caller


def test_gives_account_id_and_email(owner: Caller) -> None:
    answer = owner.get("/v1/me")
    assert answer.status_code == 200
    assert answer.json == {
        "message": "OK",
        "data": {
            "accountId": owner.account_id,
            "email": "owner@example.com",
            "credential": "key",
        },
    }
