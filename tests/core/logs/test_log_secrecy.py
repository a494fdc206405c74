"""A running service logs no personal data and no secrets while people use it."""

import json
import re
import secrets
from urllib.parse import urlencode

import pytest

from testimonials.core.db.identifiers import KEY_PREFIX, new_credential
from tests.support.finding import find
from tests.support.process import Answer, Service
from tests.support.servers import MailSink, wait_for

pytestmark = [pytest.mark.process, pytest.mark.thorough]

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
OWNER, AUTHOR, STRANGER = "owner@example.com", "author@example.com", "stranger@example.org"
PASSWORD = "three blue wardrobes"


def send(service: Service, path: str, cookie: str = "", **values: str) -> Answer:
    """Send a form without following redirects."""
    headers = FORM | ({"Cookie": cookie} if cookie else {})
    return service.call("POST", path, urlencode(values).encode(), headers)


def use(service: Service, smtp: MailSink) -> list[str]:
    """Use the service, also with errors; return every secret involved."""
    answer = service.call("POST", "/v1/auth/agent-init", {"email": OWNER})
    key = str(answer.data["apiKey"])
    headers = {"x-service-account-id": answer.data["accountId"], "x-api-key": key}
    assert service.call("POST", "/v1/projects", {"slug": "kiln"}, headers).status == 200
    claim = find(r"(/claim/\S+)", smtp.wait()[0].text)
    claimed = service.call("GET", claim)
    assert claimed.status == 200
    form = {"password": PASSWORD, "key": "keep", "key_seen": key[-4:]}
    assert send(service, claim, **form).status in (200, 303)
    # What fails: keys, passwords, tokens, forms, paths and mail.
    wrong = new_credential(KEY_PREFIX)
    assert service.call("GET", "/v1/me", headers=headers | {"x-api-key": wrong}).status == 401
    assert service.call("GET", f"/v1/{key}/{STRANGER}?key={key}", headers=headers).status == 404
    assert service.call("DELETE", claim).status == 405
    assert service.call("GET", f"{claim}/more?next={claim}").status == 404
    assert send(service, "/login", email=OWNER, password="wrong horse battery").status == 422
    cookie = secrets.token_urlsafe(32)
    assert send(service, "/dashboard/account", f"testimonials={cookie}").status in (401, 404, 405)
    send(service, "/forgot", email=OWNER)
    reset = find(r"(/reset/\S+)", smtp.wait(2)[1].text)
    assert service.call("GET", reset).status == 200
    smtp.answers += [f"550 5.1.1 <{AUTHOR}> is unknown here"]
    token = find(r'name="token" value="([^"]+)"', service.call("GET", "/kiln").body.decode())
    sent = {"text": f"Write to {AUTHOR}!", "name": "Noor", "email": AUTHOR, "consent": "yes"}
    assert send(service, "/kiln", token=token, **sent).status == 200
    wait_for(lambda: "not sent" in "".join(service.output), what="the refusal")
    service.call("POST", "/v1/auth/agent-init", {"email": f"{STRANGER} and more"})
    parts = [claim.partition("/claim/")[2], reset.partition("/reset/")[2], token]
    return [key, wrong, cookie, PASSWORD, "wrong horse", *parts]


def test_no_line_holds_an_address_or_a_secret(start, smtp):
    service = start(smtp_url=smtp.url, log_format="json", log_level="debug", min_form_seconds="0")
    in_play = use(service, smtp)
    assert service.stop() == 0
    output = "".join(service.output)
    lines = [json.loads(line) for line in service.output]
    requests = [line for line in lines if line["message"] == "request"]
    assert len(requests) >= 12
    assert len({line["request_id"] for line in requests}) == len(requests)
    assert re.findall(r"[\w.+-]+@[\w-]+\.\w+", output) == []
    assert [secret for secret in in_play if secret in output or secret[:40] in output] == []
