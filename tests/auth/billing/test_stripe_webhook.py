"""Plans: Stripe's events, signed as Stripe documents it, and what an owner is shown."""

import hashlib
import hmac
import json
import logging
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count, permutations
from typing import Any

import pytest
import stripe
from flask import Flask
from werkzeug.test import TestResponse

from testimonials.auth.billing import is_signed
from testimonials.collection.request_mail import send_due_requests
from testimonials.core.extensions import db
from tests.auth.browsers import open_browser
from tests.auth.links import ORIGIN, mails
from tests.collection.authors.authors import Visitor
from tests.collection.requests.asking import ask
from tests.conftest import Caller, MakeApp, MakeCaller
from tests.support.rows import read_account
from tests.support.sampling import sample

SECRET = "whsec_aVeryLongSecretOfStripe"
PLANS = "starter=2:price_starter, pro=50:price_pro|price_pro_yearly"
NOW = int(time.time())
CUSTOMER = "cus_Nora"
_numbers = count(1)


@pytest.fixture
def paid(make_app: MakeApp) -> Flask:
    return make_app(project_limit=1, plans=PLANS, stripe_webhook_secret=SECRET)


@pytest.fixture
def buyer(paid: Flask, make_caller: MakeCaller) -> Caller:
    return make_caller("buyer@example.com", is_claimed=True, on=paid)


def sign(body: bytes, secret: str = SECRET, at: float | None = None) -> str:
    """Sign a body: HMAC with SHA-256 over time, dot and body."""
    moment = int(time.time() if at is None else at)
    digest = hmac.new(secret.encode(), f"{moment}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={moment},v1={digest},v0=0000"


def send(app: Flask, event: dict[str, Any]) -> TestResponse:
    body = json.dumps(event).encode()
    headers = {"Stripe-Signature": sign(body), "Content-Type": "application/json; charset=utf-8"}
    answer = app.test_client().post("/webhooks/stripe", data=body, headers=headers)
    assert (answer.status_code, answer.json) == (200, {"received": True}), answer.text
    return answer


def make_event(kind: str, subject: dict[str, Any], at: int) -> dict[str, Any]:
    return {
        "id": f"evt_{next(_numbers)}", "object": "event", "type": kind, "created": NOW + at,
        "api_version": "2025-03-31.basil", "livemode": True, "data": {"object": subject},
    }  # fmt: skip


@dataclass
class Subscription:
    """One subscription at Stripe."""

    customer: str = CUSTOMER
    metadata: dict[str, str] = field(default_factory=dict)
    id: str = field(default_factory=lambda: f"sub_{next(_numbers)}")

    def event(
        self, what: str, at: int, price: str = "price_starter", status: str = "active"
    ) -> dict[str, Any]:
        """Return an event that tells of it."""
        subject = {
            "id": self.id, "object": "subscription", "customer": self.customer, "status": status,
            "metadata": self.metadata,
            "items": {"object": "list", "data": [{"id": "si_1", "price": {"id": price}}]},
        }  # fmt: skip
        return make_event(f"customer.subscription.{what}", subject, at)


def checkout(reference: str | None, at: int = 0, customer: str = CUSTOMER) -> dict[str, Any]:
    subject = {
        "id": f"cs_{next(_numbers)}", "object": "checkout.session", "mode": "subscription",
        "customer": customer, "client_reference_id": reference,
    }  # fmt: skip
    return make_event("checkout.session.completed", subject, at)


def plan_of(app: Flask, caller: Caller) -> str | None:
    return read_account(app, caller.account_id).plan


def room(caller: Caller) -> int:
    """Create projects until there is no room; return how many there are then."""
    while caller.post("/v1/projects", {"skipDemoTestimonials": True}).status_code == 200:
        pass
    return len(caller.get("/v1/projects").json["data"])


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.INFO, "testimonials.billing"):
        yield caplog


def test_who_pays_gets_the_plan(paid, buyer):
    assert room(buyer) == 1
    send(paid, checkout(buyer.account_id))
    assert plan_of(paid, buyer) is None
    send(paid, Subscription().event("created", 1))
    assert plan_of(paid, buyer) == "starter"
    assert read_account(paid, buyer.account_id).billing_customer == CUSTOMER
    assert room(buyer) == 2


def test_signatures_are_taken_as_stripes_own_library_takes_them():
    body = json.dumps(Subscription().event("created", 0)).encode()
    good, now = sign(body), int(time.time())
    right, other = good.split(",")[1], sign(body, "whsec_anotherSecret").split(",")[1]
    headers = [
        good, f"{good},{other}", f"t={now},{other},{right}", f"{right},t={now}", f"t={now}",
        f"t={now},t=1,{right}", f"t=1,t={now},{right}", good.replace("v1=", "v0="),
        sign(body, at=now + 900),
        sign(body, at=now - 290), sign(body, at=now - 310), good.upper(),
        f"t={'9' * 30},{right}", f"t=-{now},{right}", ",", "=", "t", "v1",
    ]  # fmt: skip
    for header in headers:
        try:
            stripe.Webhook.construct_event(body, header, SECRET)
            is_taken = True
        except (stripe.SignatureVerificationError, ValueError):
            is_taken = False
        assert is_signed(body, header, SECRET) == is_taken, header
    assert is_signed(b"\xff" + body, sign(b"\xff" + body), SECRET)
    for header in (f"t=１{str(now)[1:]},{right}", f"t={now}²,{right}", f"t={now},v1={'é' * 64}"):
        assert not is_signed(body, header, SECRET)


def test_what_is_not_signed_or_no_event_is_refused(paid, buyer):
    event = Subscription(metadata={"account": buyer.account_id}).event("created", 0)
    good = json.dumps(event).encode()
    tampered = sign(good.replace(b"price_starter", b"price_pro"))
    old, strange = sign(good, at=time.time() - 301), sign(good, "whsec_anotherSecret")
    sent = [(good, each) for each in (None, "", tampered, old, strange)]
    broken = '{"object": "event", "type": "%s", "created": %s, "data": {"object": %s}}'
    updated, ended = "customer.subscription.updated", "checkout.session.completed"
    subject = {
        "id": "sub_1", "customer": CUSTOMER, "status": "active",
        "items": {"data": [{"price": {"id": "price_starter"}}]},
    }  # fmt: skip
    for kind, at, inside in (
        ("customer.subscription.created", "1", "{}"), (ended, '"x"', "5"), (ended, "1e99", "{}"),
        (ended, "1", "[" * 5000 + "]" * 5000), (updated, "1", json.dumps(subject | {"id": ["s"]})),
        (updated, "1", json.dumps(subject | {"id": "sub\0"})),
        (updated, "1", json.dumps(subject | {"customer": {}})),
    ):  # fmt: skip
        text = (broken % (kind, at, inside)).encode()
        sent.append((text, sign(text)))
    half = b'{"type": "customer.subscription.created"}'
    sent += [(each, sign(each)) for each in (b"", b"[]", b"\xff", b"{", b'{"type": 1}', half)]
    for body, header in sent:
        headers = {} if header is None else {"Stripe-Signature": header}
        answer = paid.test_client().post("/webhooks/stripe", data=body, headers=headers)
        assert (answer.status_code, answer.json["code"]) == (400, "EVENT_REFUSED"), (body, header)
    assert plan_of(paid, buyer) is None
    large = b" " * (256 * 1024 + 1)
    headers = {"Stripe-Signature": sign(large)}
    answer = paid.test_client().post("/webhooks/stripe", data=large, headers=headers)
    assert answer.status_code == 413


def test_events_of_other_kinds_are_taken_and_change_nothing(paid, buyer):
    send(paid, make_event("invoice.paid", {"id": "in_1", "customer": CUSTOMER}, 0))
    one_time = checkout(buyer.account_id)
    one_time["data"]["object"]["mode"] = "payment"
    send(paid, one_time)
    send(paid, Subscription().event("created", 1))
    assert plan_of(paid, buyer) is None


@pytest.mark.parametrize("order", sample(permutations(range(4)), 6))
def test_the_last_word_counts_anyhow(paid, buyer, order):
    bought = Subscription()
    events = [
        checkout(buyer.account_id),
        bought.event("created", 0),
        bought.event("updated", 10, "price_pro_yearly"),
        bought.event("updated", 20, "price_pro_yearly", "past_due"),
    ]
    for number in (*order, *order):
        send(paid, events[number])
    assert plan_of(paid, buyer) == "pro"


@pytest.mark.parametrize(
    ("what", "status", "plan"),
    [
        ("updated", "active", "starter"), ("updated", "trialing", "starter"),
        ("updated", "past_due", "starter"), ("updated", "incomplete", "starter"),
        ("updated", "canceled", None), ("updated", "unpaid", None),
        ("updated", "incomplete_expired", None), ("deleted", "canceled", None),
        ("deleted", "active", None),
    ],
)  # fmt: skip
def test_a_plan_ends(paid, buyer, what, status, plan):
    bought = Subscription(metadata={"account": buyer.account_id})
    send(paid, bought.event("created", 0))
    # In the same second, as happens: the end is the last.
    send(paid, bought.event(what, 0, status=status))
    assert plan_of(paid, buyer) == plan
    send(paid, bought.event("created", 0))
    assert plan_of(paid, buyer) == plan


def test_a_smaller_plan_deletes_nothing(paid, buyer):
    bought = Subscription(metadata={"account": buyer.account_id})
    send(paid, bought.event("created", 0))
    assert room(buyer) == 2
    send(paid, bought.event("deleted", 1, status="canceled"))
    assert room(buyer) == 2
    # An operator's own limit comes before the plan.
    bought = Subscription(metadata={"account": buyer.account_id})
    paid.test_cli_runner().invoke(args=["accounts", "set-limit", buyer.email, "3"])
    send(paid, bought.event("created", 2))
    assert room(buyer) == 3
    project = buyer.get("/v1/projects").json["data"][0]["_id"]
    assert buyer.get(f"/v1/projects/{project}").status_code == 200


def test_of_two_subscriptions_the_larger_counts(paid, buyer):
    # A payment link makes a customer of its own with each purchase.
    first, second = Subscription("cus_first"), Subscription("cus_second")
    send(paid, checkout(buyer.account_id, 0, "cus_first"))
    send(paid, first.event("created", 0))
    send(paid, second.event("created", 10, "price_pro"))
    send(paid, checkout(buyer.account_id, 10, "cus_second"))
    assert plan_of(paid, buyer) == "pro"
    send(paid, first.event("updated", 15, "price_starter"))
    assert plan_of(paid, buyer) == "pro"
    send(paid, second.event("deleted", 20, "price_pro", "canceled"))
    assert plan_of(paid, buyer) == "starter"
    send(paid, first.event("deleted", 30, status="canceled"))
    assert plan_of(paid, buyer) is None


def test_unknown_prices_logged(paid, buyer, log):
    bought = Subscription(metadata={"account": buyer.account_id})
    send(paid, bought.event("created", 0))
    send(paid, bought.event("updated", 1, "price_of_something_else"))
    assert plan_of(paid, buyer) == "starter"
    (line,) = [each.getMessage() for each in log.records if each.levelno == logging.WARNING]
    assert "price_of_something_else" in line
    assert "TESTIMONIALS_PLANS" in line
    # It ends all the same.
    send(paid, bought.event("deleted", 2, "price_of_something_else", "canceled"))
    assert plan_of(paid, buyer) is None


def test_unknown_accounts_logged(paid, buyer, log):
    for number, reference in enumerate((None, "", "0" * 24, "nora@example.com", "x'; --", 5)):
        log.clear()
        send(paid, checkout(reference, customer=f"cus_{number}"))
        send(paid, Subscription(f"cus_{number}").event("created", 1))
        assert plan_of(paid, buyer) is None
        for words in ("names no account", "belongs to no account yet", "set-plan"):
            assert words in log.text, words
        assert "nora@" not in log.text


def test_an_account_that_is_gone(paid, buyer, make_caller):
    bought = Subscription()
    send(paid, checkout(buyer.account_id))
    send(paid, bought.event("created", 0))
    result = paid.test_cli_runner().invoke(args=["accounts", "delete", buyer.email, "--yes"])
    assert result.exit_code == 0, result.output
    send(paid, bought.event("updated", 5))
    again = make_caller(buyer.email, is_claimed=True, on=paid)
    assert plan_of(paid, again) is None


@pytest.mark.postgres
def test_two_events_at_once_make_one_plan(make_app, make_caller):
    settings = {"project_limit": 1, "plans": PLANS, "stripe_webhook_secret": SECRET}
    processes = [make_app(**settings) for _ in range(2)]
    for number in range(8):
        buyer = make_caller(f"buyer{number}@example.com", is_claimed=True, on=processes[0])
        customer = f"cus_{number}"
        events = [
            checkout(buyer.account_id, 0, customer),
            Subscription(customer).event("created", 0),
        ]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(send, processes * 2, events * 2))
        assert plan_of(processes[0], buyer) == "starter"


def test_a_plan_that_is_gone_falls_back(make_app, paid, buyer):
    send(paid, Subscription(metadata={"account": buyer.account_id}).event("created", 0))
    other = make_app(project_limit=1, plans="pro=50:price_pro", stripe_webhook_secret=SECRET)
    with other.app_context():
        buyer.client = other.test_client()
        assert room(buyer) == 1
        db.session.remove()


URL = "https://buy.example.com/x?client_reference_id={account}"


def show(app: Flask, caller: Caller, path: str) -> str:
    answer = open_browser(app, caller).get(path)
    assert answer.status_code == 200
    return answer.text


def test_an_owner_sees_plan_usage_and_link(make_app, owner):
    # Without a link it says who sets it; without its secret Stripe has no address here.
    page = show(make_app(), owner, "/dashboard/account/projects")
    assert "Set by the operator of this service." in page
    assert "More projects" not in page
    answer = make_app().test_client().post("/webhooks/stripe", data=b"{}")
    assert (answer.status_code, answer.json["code"]) == (404, "NOT_FOUND")
    app = make_app(plans="Starter=5", more_projects_url=URL)
    owner.create_project()
    app.test_cli_runner().invoke(args=["accounts", "set-plan", owner.email, "starter"])
    page = show(app, owner, "/dashboard/account/projects")
    assert ">Starter</h2>" in page
    assert "<strong>1 of 5</strong> projects" in page
    assert f'href="{URL.format(account=owner.account_id)}"' in page
    assert "Set by the operator of this service." not in page
    owner.client = make_app(project_limit=0, more_projects_url=URL).test_client()
    answer = owner.post("/v1/projects")
    assert (answer.status_code, answer.json["code"]) == (402, "PROJECT_LIMIT_REACHED")
    assert URL.format(account=owner.account_id) in answer.json["message"]


@pytest.mark.parametrize(("plan", "is_named"), [("Starter", True), ("Pro", False)])
def test_an_unbranded_plan_hides_the_service_from_customers(make_app, owner, smtp, plan, is_named):
    app = make_app(plans="Starter=5, Pro=50 unbranded", smtp_url=smtp.url)
    owner.client = app.test_client()
    project = owner.create_project(slug="kiln", businessName="Kiln & Clay")["_id"]
    app.test_cli_runner().invoke(args=["accounts", "set-plan", owner.email, plan])
    ask(open_browser(app, owner), project, "lee@example.com")
    with app.app_context():
        send_due_requests()
    Visitor(app.test_client(), project, "kiln").write()
    sent = [mail for mail in mails(app) if mail.recipient.split("@")[0] in ("lee", "noor")]
    assert [each.purpose for each in sent] == ["invitation", "author-link"]
    for mail in sent:
        assert ("Testimonials" in mail.text, "Testimonials" in mail.html) == (is_named, is_named)
        assert is_named or mail.sender_name == "Kiln & Clay"
    answer = app.test_client().get(f"/oembed?url={ORIGIN}/kiln/wall").json
    assert answer["provider_name"] == ("Testimonials" if is_named else "Kiln & Clay")
