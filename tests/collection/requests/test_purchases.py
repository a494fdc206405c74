"""Links that prove a purchase: signed by a shop, made by the API, or in a mailed request."""

import base64
import hashlib
import hmac
import html
import json
import re
import time
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.auth.tokens import Scope
from testimonials.core.jobs import run_due
from tests.auth.browsers import mails, open_browser
from tests.auth.tokens import give_token
from tests.collection.requests.asking import ask, form_of, read_requests, requests_to
from tests.support.commands import run_json, run_well
from tests.support.rows import read_testimonials
from tests.support.shapes import data_of
from tests.support.visitors import form_token
from tests.testimonials.moderation.test_setting_aside import decide

NOTE = "Your words will be marked “Verified customer”."


def encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def sign(secret: str, claims: dict[str, Any], **header: Any) -> str:
    """Sign as a shop's library does (RFC 7515)."""
    parts = ({"alg": "HS256", "typ": "JWT"} | header, claims)
    signed = ".".join(encode(json.dumps(part).encode()) for part in parts)
    seal = hmac.digest(secret.encode(), signed.encode(), hashlib.sha256)
    return f"{signed}.{encode(seal)}"


def claims(**more: Any) -> dict[str, Any]:
    return {"order": "A-1042", "exp": int(time.time()) + 3600} | more


@pytest.fixture
def secret(browser: FlaskClient, project: str) -> str:
    page = browser.post(
        f"/dashboard/projects/{project}/settings/developers/purchases/secret",
        data={"last_four": ""},
    )
    found = re.search(r"tst_sign_\w{30,}", page.text)
    assert found, page.text
    return found[0]


def write(client: FlaskClient, app: Flask, project: str, link: str, text: str) -> Any:
    page = client.get("/kiln").text
    sent = {"text": text, "name": "Maya Chen", "consent": "yes", "purchase": link}
    answer = client.post("/kiln", data=sent | {"token": form_token(page)})
    assert answer.status_code == 303, answer.text
    return next(row for row in read_testimonials(app, project) if row.text == text)


def test_what_a_shop_signed_marks_one_testimonial(app, client, project, secret):
    link = sign(secret, claims(name="Maya Chen", email="no address"))
    page = client.get(f"/kiln?purchase={link}")
    assert NOTE in html.unescape(page.text)
    assert 'value="Maya Chen"' in page.text
    assert page.headers["Cache-Control"] == "no-store"
    first = write(client, app, project, link, "The glaze never chipped.")
    assert first.purchase_reference == "A-1042"
    assert NOTE not in html.unescape(client.get(f"/kiln?purchase={link}").text)
    second = write(client, app, project, link, "Once more, with feeling.")
    assert (second.purchase_reference, second.purchase_verified_at) == (None, None)


def test_what_proves_nothing_opens_the_plain_form(client, secret):
    changes: tuple[dict[str, Any], ...] = (
        {"exp": 1}, {"exp": None}, {"exp": True}, {"exp": float("inf")},
        {"exp": int(time.time()) + 10**9}, {"order": ""}, {"order": "x" * 121},
        {"order": ["A-1042"]}, {"order": "a\x00b"},
    )  # fmt: skip
    for change in changes:
        page = client.get("/kiln", query_string={"purchase": sign(secret, claims(**change))})
        assert (page.status_code, NOTE in html.unescape(page.text)) == (200, False), change


def test_only_this_projects_secret_and_this_algorithm_count(
    client, owner, browser, project, secret
):
    good = sign(secret, claims())
    head, body, seal = good.split(".")
    owner.create_project(slug="other")
    bad = [
        sign("another", claims()), sign(secret, claims(), alg="none"),
        sign(secret, claims(), crit=["b64"]), f"{encode(b'{')}.{body}.{seal}", f"{head}.{body}.",
        f"{head}..{seal}", "ü", "." * 50, good + "x" * 3000,
    ]  # fmt: skip
    for token in bad:
        page = client.get("/kiln", query_string={"purchase": token})
        assert (page.status_code, NOTE in html.unescape(page.text)) == (200, False), token
    assert NOTE not in html.unescape(client.get(f"/other?purchase={good}").text)
    assert NOTE in html.unescape(client.get(f"/kiln?purchase={good}").text)
    browser.post(f"/dashboard/projects/{project}/settings/developers/purchases/off")
    assert NOTE not in html.unescape(client.get(f"/kiln?purchase={good}").text)


@pytest.mark.postgres
@pytest.mark.parametrize("is_ended", [True, False])
def test_a_former_owners_secret_works_for_a_week_unless_it_is_ended(
    app, client, make_caller, project, secret, moved_clock, is_ended
):
    def proves(signed: str) -> bool:
        link = sign(signed, claims(exp=int(time.time()) + 10**6))
        return NOTE in html.unescape(client.get("/kiln", query_string={"purchase": link}).text)

    anna, here = (
        make_caller("anna@x.example", is_claimed=True),
        f"/dashboard/projects/{project}/settings/developers/purchases",
    )
    done = app.test_cli_runner().invoke(args=["projects", "transfer", "kiln", anna.email])
    assert done.exit_code == 0, done.output
    (mail,) = [each for each in mails(app) if each.purpose == "left-behind"]
    assert (mail.recipient, "also works until" in mail.text) == (anna.email, True)
    browser = open_browser(app, anna)
    page = html.unescape(browser.get(here).text)
    assert ("Revoke the former owner’s secret" in page, secret[-4:] in page) == (True, False)
    # Whoever makes another for their shop ends the new one alone.
    last_four = re.search(r'name="last_four" value="(\w{4})"', page)[1]
    shown = browser.post(f"{here}/secret", data={"last_four": last_four}).text
    new = re.search(r"tst_sign_\w{30,}", shown)[0]
    assert (proves(secret), proves(new)) == (True, True)
    if is_ended:
        assert browser.post(f"{here}/end-old").status_code == 303
    else:
        moved_clock.move(days=6.9)
        assert proves(secret)
        moved_clock.move(days=0.2)
    assert (proves(secret), proves(new)) == (False, True)
    assert "End the former" not in browser.get(here).text


def test_the_api_makes_links_and_tells_which_are_used(app, client, owner, project, moved_clock):
    helper = give_token(app, owner, Scope.CONFIGURE, Scope.READ)
    path = f"/v1/projects/{project}/purchase-links"
    data = data_of(helper.post(path, {"order": "7", "language": "de", "expiresInDays": 2}))
    assert not data["isUsed"]
    assert 'lang="de"' in client.get(data["url"].partition("example.com")[2]).text
    link = data["url"].partition("purchase=")[2]
    assert write(client, app, project, link, "Wie neu.").purchase_reference == "7"
    assert data_of(helper.post(path, {"order": "7"}))["isUsed"]
    (item,) = data_of(helper.get(f"/v1/projects/{project}/submissions"))["items"]
    assert item["verifiedCustomer"] is True
    later = data_of(helper.post(path, {"order": "8", "expiresInDays": 1}))["url"]
    moved_clock.move(days=2)
    assert "Verified customer" not in client.get(later.partition("example.com")[2]).text


def test_what_comes_by_a_used_link_may_be_spam(app, client, project, secret):
    link, stuffed = sign(secret, claims()), "Buy https://a.example/b https://c.example/d, now"
    assert write(client, app, project, link, f"{stuffed}!").status == "pending"
    again = write(client, app, project, link, f"{stuffed}, twice!")
    assert (again.status, again.purchase_reference) == ("spam", None)


def test_a_mailed_request_with_an_order_proves_it_too(app, client, browser, project):
    ask(browser, project, "email,name,order\nnoor@example.com,Noor Haddad,A-17")
    page = client.get(form_of(requests_to(app)[0]))
    assert NOTE in html.unescape(page.text)
    invitation = re.search(r'name="invitation" value="([^"]+)"', page.text)
    sent = {"text": "As asked.", "name": "Noor", "consent": "yes", "token": form_token(page.text)}
    client.post("/kiln", data=sent | {"invitation": html.unescape(invitation[1])})
    (row,) = read_testimonials(app, project)
    assert row.purchase_reference == "A-17"


def test_that_a_mailed_list_named_the_order_is_told_elsewhere_too(
    app, client, owner, browser, project, tmp_path
):
    test_a_mailed_request_with_an_order_proves_it_too(app, client, browser, project)
    (row,) = read_testimonials(app, project)
    decide(give_token(app, owner), project, row.id, decision="approve")
    told = "✓ The business emailed its request to this author about their order."
    assert told in client.get(f"/kiln/{row.id}/record").text
    # The address is forgotten; that it was asked stands in the record.
    (asked,) = read_requests(app).values()
    removed = f"/dashboard/projects/{project}/collect/asked/remove"
    assert browser.post(removed, data={"id": asked.id}).status_code == 303
    for slug, copy in (("kiln", "kiln-2"), ("kiln-2", "kiln-3")):
        file = str(tmp_path / f"{slug}.zip")
        run_well(app, "projects", "export", slug, file)
        into = ("--account", owner.email, "--slug", copy)
        brought = run_json(app, "projects", "import", file, *into)
        assert brought["differing"] == []
        with app.app_context():
            run_due("jobs")
        (row,) = read_testimonials(app, brought["_id"])
        assert row.purchase_reference == "A-17"
        assert told in client.get(f"/{copy}/{row.id}/record").text
