"""What an owner is shown of their plan, and where they get more projects."""

import pytest
from flask import Flask

from testimonials.operations.jobs.registry import send_due_requests
from tests.auth.browsers import open_browser
from tests.auth.links import ORIGIN, mails
from tests.collection.authors.authors import Visitor
from tests.collection.requests.asking import ask
from tests.conftest import Caller, MakeApp
from tests.support.rows import add_member
from tests.support.servers import MailSink

URL = "https://buy.example.com/x?client_reference_id={account}"


def show(app: Flask, caller: Caller, path: str) -> str:
    answer = open_browser(app, caller).get(path)
    assert answer.status_code == 200
    return answer.text


def test_an_owner_sees_plan_usage_and_link(make_app: MakeApp, owner: Caller) -> None:
    app = make_app(plans="Starter=5", more_projects_url=URL)
    project = owner.create_project()["_id"]
    app.test_cli_runner().invoke(args=["accounts", "set-plan", owner.email, "starter"])
    for path in ("/dashboard/account", f"/dashboard/projects/{project}/settings"):
        page = show(app, owner, path)
        assert "<strong>Starter</strong>" in page
        assert "<strong>1 of 5</strong> projects" in page
        assert f'href="{URL.format(account=owner.account_id)}"' in page
        assert "Set by the operator of this server." not in page


def test_without_a_link_it_says_who_sets_it(app: Flask, owner: Caller) -> None:
    page = show(app, owner, "/dashboard/account")
    assert "Set by the operator of this server." in page
    assert "More projects" not in page


def test_colleagues_do_not_see_it(make_app: MakeApp, owner: Caller, outsider: Caller) -> None:
    app = make_app(plans="Starter=5", more_projects_url=URL)
    project = owner.create_project()["_id"]
    add_member(app, project, outsider, "admin")
    app.test_cli_runner().invoke(args=["accounts", "set-plan", owner.email, "starter"])
    browser = open_browser(app, outsider)
    answer = browser.get(f"/dashboard/projects/{project}/settings")
    assert answer.status_code == 200
    for page in (answer.text, browser.get("/dashboard/account").text):
        assert "Starter" not in page
        assert owner.account_id not in page


def test_at_the_limit_the_api_says_where_to_get_more(make_app: MakeApp, owner: Caller) -> None:
    owner.client = make_app(project_limit=0, more_projects_url=URL).test_client()
    answer = owner.post("/v1/projects")
    assert (answer.status_code, answer.json["code"]) == (402, "PROJECT_LIMIT_REACHED")
    assert URL.format(account=owner.account_id) in answer.json["message"]


@pytest.mark.parametrize(("plan", "is_named"), [("Starter", True), ("Pro", False)])
def test_an_unbranded_plan_hides_the_service_from_customers(
    make_app: MakeApp, owner: Caller, smtp: MailSink, plan: str, is_named: bool
) -> None:
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
