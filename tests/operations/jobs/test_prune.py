"""`testimonials prune`: removes expired data of each kind, and nothing else."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from testimonials.analytics.models import InsightPathDay
from testimonials.auth.models import AccessToken, BillingSubscription, CompanyAttempt, Session
from testimonials.collection.models import AbuseReport, MailedRequest, RequestBatch
from testimonials.core import clock
from testimonials.core.chain import read_log
from testimonials.core.db.erasure import Erased
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.idempotency import IdempotencyKey
from testimonials.core.http.rate_limits import RateLimitCounter
from testimonials.core.images.uploads import Image
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.integrations.webhooks.log import KEPT
from testimonials.integrations.webhooks.models import WebhookDelivery
from testimonials.operations.expiry import KINDS
from testimonials.projects.models import (
    OwnershipOffer,
    Project,
    Proposal,
    TeamInvitation,
    WidgetSighting,
)
from testimonials.testimonials import models
from testimonials.testimonials.models import Recording
from testimonials.transfer.models import TableImport
from tests.conftest import Caller
from tests.support.commands import run_json, run_well
from tests.support.rows import add_testimonial, add_webhook, change_project, count_rows

pytestmark = pytest.mark.postgres


def prune(app: Flask, *options: str) -> dict[str, int]:
    answer = run_json(app, "prune", *options)
    assert answer["dryRun"] is ("--dry-run" in options)
    return dict(answer["removed"])


def make_mail(state: str, **values: Any) -> OutboxMail:
    texts = {"purpose": "test", "subject": "S", "text": "T", "html": "H"}
    return OutboxMail(
        recipient="a@example.com", state=state, tried_at=clock.now(), **texts, **values
    )


def fill(app: Flask, owner: Caller, agent: Caller) -> None:
    """Add one row of each kind that will have expired in a year."""
    project = owner.create_project(slug="stays")["_id"]
    agent.create_project(slug="unclaimed")
    gone = owner.create_project(slug="deleted")["_id"]
    change_project(app, gone, deleted_at=clock.now())
    add_testimonial(app, project, deleted_at=clock.now())
    add_testimonial(app, project, status="spam")
    add_testimonial(app, project)
    webhook, now = add_webhook(app, project), clock.now()
    with app.app_context(), write():
        sent = {"endpoint_id": webhook, "event_type": "project.updated", "state": "sent"}
        db.session.add_all(
            WebhookDelivery(event_id=str(place), **sent) for place in range(KEPT + 1)
        )
        batch = RequestBatch(
            project_id=project, actor=owner.email, subject="S", message="M", language="en", size=1
        )
        needed = make_mail(MailState.FAILED)
        db.session.add_all((batch, needed))
        db.session.flush()
        person = {"project_id": project, "batch_id": batch.id, "email_hash": "h"}
        db.session.add_all(
            (
                Session(
                    account_id=owner.account_id, token_hash="h", label="B",
                    expires_at=now + timedelta(days=30),
                ),
                CompanyAttempt(
                    id="a", browser_hash="h", purpose="sign-in", verifier="v", nonce="n",
                    target="", draft="",
                ),
                TeamInvitation(
                    project_id=project, email="n@example.com", role="admin", nonce_hash="h",
                    invited_by=owner.email, expires_at=now,
                ),
                OwnershipOffer(
                    owner_id=owner.account_id, project_id=project, receiver_id=owner.account_id,
                    keeps_team=True, expires_at=now + timedelta(days=1),
                ),
                MailedRequest(**person, email="silent@example.com"),
                # It was answered, so it stays, with the mail that shows its state.
                MailedRequest(
                    **person, email="answered@example.com", answered_at=now, mail_id=needed.id
                ),
                WidgetSighting(project_id=project, origin="https://old.example", seen_at=now),
                InsightPathDay(
                    project_id=project, form="", day=f"{now - timedelta(days=400):%Y-%m-%d}",
                ),
                Image(content=b"x", width=1, height=1),
                make_mail(MailState.SENT, sent_at=now),
                make_mail(MailState.PRINTED, sent_at=now),
                make_mail(MailState.FAILED),
                make_mail(MailState.QUEUED),
                AccessToken(
                    account_id=owner.account_id, made_by_id=owner.account_id, name="T", scopes=[],
                    token_hash="h", expires_at=now,
                ),
                Proposal(
                    project_id=project, kind="page", values={}, actor_kind="agent", decided_at=now
                ),
                # The second waits for an operator, so it stays.
                AbuseReport(project_id=project, page="wall", reason="other", words="W",
                            settled_at=now),
                AbuseReport(project_id=project, page="wall", reason="other", words="W"),
                IdempotencyKey(owner="o", key="k", fingerprint="f", status=200, body=b"x"),
                Recording(project_id=project, kind="video", size=9),
                TableImport(
                    project_id=project, actor=owner.email, file_name="a.csv", state="draft",
                    options={}, content=b"x",
                ),
                BillingSubscription(
                    id="s", customer="c", plan="pro", is_running=True, told_at=now
                ),
                # Whose account is known, as long as the account.
                BillingSubscription(
                    id="t", customer="d", plan="pro", is_running=True, told_at=now,
                    account_id=owner.account_id,
                ),
                Erased(kind="project", id="long-gone", erased_at=now),
                RateLimitCounter(key="k", hits=1, expires_at=1.0),
            )
        )  # fmt: skip


def test_each_kind_goes_when_its_time_has_passed_and_is_counted(app, owner, agent, moved_clock):
    fill(app, owner, agent)
    nothing = dict.fromkeys(KINDS, 0)
    assert prune(app) == nothing | {"rateLimits": 1, "deliveries": 1}
    moved_clock.move(days=401)
    due = nothing | dict.fromkeys(KINDS, 1) | {"testimonials": 2, "mails": 3}
    # The creation of two projects and the endpoint; their networks go with them.
    due |= {"events": 3, "networks": 0, "rateLimits": 0, "deliveries": 0}
    for _ in range(2):
        assert prune(app, "--dry-run") == due
    assert (prune(app), prune(app)) == (due, nothing)
    with app.app_context():
        states = sorted(mail.state for mail in db.session.query(OutboxMail))
        assert states == [MailState.FAILED, MailState.QUEUED]
    assert count_rows(app, MailedRequest) == count_rows(app, AbuseReport) == 1


def test_mail_has_its_days(app, make_caller, moved_clock):
    with app.app_context():
        db.session.add(make_mail(MailState.SENT, sent_at=clock.now()))
        db.session.commit()
    moved_clock.move(days=29.9)
    assert prune(app)["mails"] == 0
    moved_clock.move(days=0.2)
    assert prune(app)["mails"] == 1


def test_a_person_reads_what_went(app, agent, moved_clock):
    assert run_well(app, "prune") == "Nothing to remove.\n"
    moved_clock.move(days=8)
    would = run_well(app, "prune", "--dry-run")
    assert would == "Would remove 1 expired unclaimed accounts.\n"
    assert run_well(app, "prune").startswith("Removed 1 expired unclaimed accounts")


def test_what_was_turned_down_goes_when_a_setting_says_so(make_app, make_caller, moved_clock):
    app = make_app(rejected_days=10, withdrawn_days="20", spam_days=0, trash_days=0)
    project = make_caller("o@example.com", is_claimed=True, on=app).create_project()["_id"]
    add_testimonial(app, project)
    for status in ("rejected", "withdrawn", "spam"):
        add_testimonial(app, project, status=status, consent_withdrawn_at=clock.now())
    add_testimonial(app, project, deleted_at=clock.now())
    for days, gone in ((9, 0), (2, 1), (8, 0), (2, 1), (4000, 0)):
        moved_clock.move(days=days)
        assert prune(app)["testimonials"] == gone
    # The public record says what left the numbers, as the rejected one without stars did.
    log = read_log(app.test_client().get(f"/record/{project}/log").data)
    assert [each["kind"] for each in log.entries] == ["deleted"]


def test_what_is_restored_or_sent_meanwhile_stays(app, owner, moved_clock):
    project = owner.create_project()["_id"]
    row = add_testimonial(app, project, deleted_at=clock.now())
    with app.app_context(), write():
        db.session.add(Recording(project_id=project, kind="video", size=9))
    moved_clock.move(days=400)
    with app.app_context(), ThreadPoolExecutor(1) as pool, db.engine.connect() as other:
        other.execute(select(Project.id).with_for_update())
        other.execute(update(models.Testimonial).values(deleted_at=None))
        other.execute(update(Recording).values(testimonial_id=row))
        done = pool.submit(prune, app)
        # On PostgreSQL it has read by now what is due, and waits for the rows.
        time.sleep(1)
        other.commit()
        done.result()
    assert count_rows(app, models.Testimonial) == count_rows(app, Recording) == 1


def test_zero_keeps_each_kind(make_app, make_caller, moved_clock):
    kept = {
        "mails": "mail", "events": "activity", "networks": "network", "askedPeople": "request",
        "proposals": "proposal", "erasures": "erased", "testimonials": "trash",
        "reports": "report", "accessTokens": "token", "insights": "insight",
    }  # fmt: skip
    settings = {f"{name}_days": 0 for name in kept.values()}
    app = make_app(**settings, spam_days=0)
    fill(
        app,
        make_caller("o@example.com", is_claimed=True, on=app),
        make_caller("a@example.com", on=app),
    )
    moved_clock.move(days=5000)
    removed = prune(app)
    assert {name: removed[name] for name in kept} == dict.fromkeys(kept, 0)


def test_a_setting_shortens_what_is_kept(make_app, make_caller, moved_clock):
    app = make_app(report_days=5, token_days=5, insight_days=405, delivery_days=5)
    owner = make_caller("o@example.com", is_claimed=True, on=app)
    fill(app, owner, make_caller("a@example.com", on=app))
    kinds = ("reports", "accessTokens", "insights")
    # Of deliveries one is past the number that is kept.
    for days, gone, deliveries in ((4, 0, 1), (2, 1, KEPT)):
        moved_clock.move(days=days)
        removed = prune(app)
        assert {name: removed[name] for name in kinds} == dict.fromkeys(kinds, gone)
        assert removed["deliveries"] == deliveries
