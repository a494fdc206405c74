"""What doors record, each in the transaction of what it does."""

from flask import Flask
from sqlalchemy import text

from testimonials.extensions import db
from tests.activity.events import read_events, read_types
from tests.auth.browsers import mailed_path, open_browser
from tests.conftest import PASSWORD, Caller
from tests.support.rows import read_testimonials

NEW = "four green armchairs"


def test_what_owners_do_to_their_account_is_recorded(app: Flask, owner: Caller) -> None:
    browser, here = open_browser(app, owner), "/dashboard/account"
    for path, form in (
        ("password", {"current": "wrong", "password": NEW}),
        ("password", {"current": PASSWORD, "password": NEW, "replace_key": "1"}),
        ("key", {}),
        ("export", {}),
        ("email", {"email": "new@example.com"}),
    ):
        assert browser.post(f"{here}/{path}", data=form, buffered=True).status_code in (
            200,
            303,
            422,
        )
    browser.post(mailed_path(app, "email-change"))
    events = read_events(app, owner.account_id)
    assert [event.type for event in events] == [
        "password.refused",
        "password.changed",
        "key.replaced",
        "key.replaced",
        "account.exported",
        "address.requested",
        "address.changed",
    ]
    assert events[-1].details == {"old": owner.email, "email": "new@example.com"}
    assert {(each.actor_kind, each.actor_name) for each in events} == {("person", owner.account_id)}
    told = "".join(str(each.details) for each in events)
    assert PASSWORD not in told
    assert NEW not in told


def test_what_is_done_in_a_project_is_in_its_owners_record(
    app: Flask, owner: Caller, outsider: Caller
) -> None:
    project = owner.create_project(slug="fern")["_id"]
    owner.create_testimonial(project, text="A secret recipe")
    owner.patch(f"/v1/projects/{project}/widget-config", {"layout": "list"})
    owner.patch(f"/v1/projects/{project}/widget-config", {})
    browser, base = open_browser(app, owner), f"/dashboard/projects/{project}"
    invited = {"email": outsider.email, "role": "moderator"}
    browser.post(f"{base}/team/invitations", data=invited)
    colleague = open_browser(app, outsider)
    colleague.post(mailed_path(app, "invitation"))
    browser.post(f"{base}/team/members/{outsider.account_id}/role", data={"role": "admin"})
    # A draft leaves no event; publishing it does.
    for layout in ("carousel", "masonry"):
        colleague.post(f"{base}/widget", data={"layout": layout})
        colleague.post(f"{base}/widget/publish")
    colleague.post(f"{base}/bulk", data={"action": "delete", "all": "1", "status": "all"})
    colleague.post(f"{base}/leave")
    browser.post(f"{base}/slug", data={"slug": "fable"})
    browser.post(f"{base}/export/csv", buffered=True)
    browser.post(f"{base}/delete", data={"confirm": "fable"})
    events = read_events(app, owner.account_id)
    told = [(each.type, each.actor_kind, each.actor_name) for each in events]
    agent = ("agent", owner.api_key[-4:])
    person, other = ("person", owner.account_id), ("person", outsider.account_id)
    assert told == [
        ("project.created", *agent),
        ("testimonial.created", *agent),
        ("widget.changed", *agent),
        ("invitation.sent", *person),
        ("invitation.accepted", *other),
        ("member.changed", *person),
        ("widget.changed", *other),
        ("testimonial.deleted", *other),
        ("member.left", *other),
        ("project.renamed", *person),
        ("project.exported", *person),
        ("project.deleted", *person),
    ]
    assert {each.project_id for each in events} == {project}
    assert events[6].times == 2
    assert "recipe" not in "".join(str(each.details) for each in events)
    assert read_types(app, outsider.account_id) == []


def test_what_cannot_be_recorded_is_not_done(app: Flask, owner: Caller) -> None:
    project = owner.create_project()["_id"]
    body = {"authorName": "Maya", "text": "It works."}
    rename(app, "event", "elsewhere")
    try:
        answer = owner.post(f"/v1/projects/{project}/testimonials", body)
    finally:
        rename(app, "elsewhere", "event")
    assert answer.status_code >= 500
    assert read_testimonials(app, project) == []


def rename(app: Flask, table: str, name: str) -> None:
    with app.app_context():
        db.session.execute(text(f"ALTER TABLE {table} RENAME TO {name}"))
        db.session.commit()
