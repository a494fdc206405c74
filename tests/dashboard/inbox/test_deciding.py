"""From the mail to a decision: one testimonial after the other, signed in or by the mail's link."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask.testing import FlaskClient

from testimonials.auth.models import Account
from testimonials.auth.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.projects.access import Role, find_access
from testimonials.projects.team import remove_member
from tests.auth.browsers import open_browser, sign_in
from tests.auth.links import ORIGIN, mails
from tests.dashboard.inbox.inbox import JSON, Inbox
from tests.support.racing import is_one_waiting_to_write
from tests.support.rows import add_member, change_project, change_testimonial, read_testimonials
from tests.support.servers import wait_for
from tests.testimonials.media.recorded import send, upload


def mailed_link(inbox: Inbox, recipient: str = "") -> str:
    told = [
        mail
        for mail in mails(inbox.app)
        if mail.purpose == "submissions" and mail.recipient == (recipient or inbox.owner.email)
    ]
    found = re.search(rf"{ORIGIN}(/\S*decide/[^\s?]+)", told[-1].text)
    assert found, told[-1].text
    return found[1]


def decide_by_mail(inbox: Inbox, client: FlaskClient) -> None:
    """Choose links that decide, as somebody who looks after the project."""
    data = {"mode": "at_once", "decides_by_mail": "1"}
    assert client.post(f"{inbox.base}/settings/mail", data=data).status_code == 303


def test_the_mail_leads_to_one_then_the_next_to_the_end(inbox, client):
    inbox.receive("Maya", "Tom", "Aiko")
    path = mailed_link(inbox)
    # Who isn't signed in comes back there, and the GET changes nothing.
    assert client.get(path).headers["Location"].startswith(f"/login?next={path}")
    assert sign_in(client, inbox.owner.email, next=path).headers["Location"] == path
    page = client.get(path).text
    assert "Words of Maya" in page
    for name, action in (("Maya", "approve"), ("Tom", "reject"), ("Aiko", "approve")):
        assert f"Words of {name}" in page
        # The form says where it is sent and how many were decided before.
        form = page.partition('<form class="mail-buttons"')[2].partition("</form>")[0]
        data = dict(re.findall(r'type="hidden" name="(\w+)" value="(\d+)"', form))
        assert f"{int(data['done']) + 1} of 3" in page
        target = re.search(r'action="([^"]+)"', form)
        answer = client.post(target[1], data=data | {"action": action})
        page = client.get(answer.headers["Location"]).text
        assert f"{'Approved' if action == 'approve' else 'Rejected'}: {name}" in page
    assert "All decided" in page
    assert "2 people speak for your salon." in page
    change_project(inbox.app, inbox.project, business_name="Fern")
    assert "2 people speak for you." in inbox.get("inbox").text
    assert sorted(inbox.shown()) == ["Aiko", "Maya"]


def test_undo_leads_back_and_a_refusal_names_the_cause_and_what_is_safe(inbox):
    maya, _ = inbox.receive("Maya", "Tom")
    inbox.client.post(f"{inbox.base}/decide/{maya}", data={"action": "approve"})
    answer = inbox.client.post(f"{inbox.base}/decide/undo", data={"done": "1"})
    assert answer.headers["Location"] == f"{inbox.base}/decide/{maya}"
    assert "1 of 2" in inbox.client.get(answer.headers["Location"]).text
    answer = inbox.client.post(f"{inbox.base}/decide/undo")
    assert (answer.status_code, "nothing left to undo" in answer.text) == (409, True)
    change_testimonial(inbox.app, maya, status="withdrawn")
    answer = inbox.client.post(f"{inbox.base}/decide/{maya}", data={"action": "approve"})
    assert answer.status_code == 409
    assert "Already decided: Withdrawn by its author" in answer.text
    assert ">Next<" in answer.text
    assert inbox.client.get(f"{inbox.base}/decide/{'1' * 24}").status_code == 404
    assert inbox.counts()["pending"] == 1


def test_an_author_with_a_proven_address_is_thanked_once(inbox):
    maya, tom = inbox.receive("Maya", "Tom", author_email="maya@example.com")
    change_testimonial(inbox.app, maya, email_verified_at=clock.now())
    assert "Thank <bdi>" not in inbox.get(f"testimonials/{tom}").text
    path = f"{inbox.base}/testimonials/{maya}"
    assert "Thank <bdi>Maya</bdi> by email" in inbox.client.get(path).text
    assert inbox.client.post(f"{path}/thanks", data={"thanks": " "}).status_code == 422
    inbox.act(maya, "approve")
    for each, status in ((maya, 303), (maya, 409), (tom, 409)):
        data = {"thanks": "Hi Maya,\n<b>thank you</b>"}
        answer = inbox.client.post(f"{inbox.base}/testimonials/{each}/thanks", data=data)
        assert answer.status_code == status
    (mail,) = [mail for mail in mails(inbox.app) if "thank you</b>" in mail.text]
    assert mail.recipient == "maya@example.com"
    assert "<b>" not in mail.html
    page = inbox.client.get(path).text
    assert "Thank <bdi>" not in page
    assert "Thanked by email" in page
    # It is in nobody's way of undoing.
    answer = inbox.client.post(f"{inbox.base}/inbox/undo", headers=JSON)
    assert answer.json["notice"]["text"] == "Undone (Approved: Maya)."


def test_a_mailed_link_decides_once_and_nothing_else(inbox, client):
    decide_by_mail(inbox, inbox.client)
    (maya,) = inbox.receive("Maya")
    path = mailed_link(inbox)
    assert path.startswith(f"/decide/{maya}.")
    for _ in range(2):
        page = client.get(path)
        assert (page.status_code, "Words of Maya" in page.text) == (200, True)
        assert page.headers["Cache-Control"] == "no-store"
    assert inbox.shown() == []
    for action in ("delete", "pin", "spam", ""):
        assert client.post(path, data={"action": action}).status_code == 409
    assert client.post(path, data={"action": "approve"}).status_code == 200
    assert inbox.shown() == ["Maya"]
    for answer in (client.get(path), client.post(path, data={"action": "reject"})):
        assert (answer.status_code, "doesn’t work" in answer.text) == (410, True)
    assert inbox.shown() == ["Maya"]
    # It signed nobody in, the history says how it was done, and its person can undo it.
    assert client.get(f"{inbox.base}/inbox").status_code == 303
    assert "by a link in an email" in inbox.get(f"testimonials/{maya}").text
    answer = inbox.client.post(f"{inbox.base}/inbox/undo", headers=JSON)
    assert "Undone (Approved: Maya)" in answer.json["notice"]["text"]
    assert client.get(path).status_code == 410


def test_a_recording_is_played_where_it_is_decided(inbox, client):
    change_project(inbox.app, inbox.project, page_design={"video": True})
    decide_by_mail(inbox, inbox.client)
    send(client, "salon", text="", recording=upload(client, slug="salon"))
    path = mailed_link(inbox)
    page = client.get(path).text
    assert "<video" in page
    # The link plays it and changes nothing of it.
    assert page.count("<form") == 1
    assert "<textarea" not in page
    # Who is signed in decides in the dashboard.
    (row,) = read_testimonials(inbox.app, inbox.project)
    answer = inbox.client.get(path)
    assert answer.headers["Location"].endswith(f"{inbox.base}/decide/{row.id}")
    page = inbox.get(f"decide/{row.id}").text
    assert "<video" in page
    assert 'name="transcript"' in inbox.get(f"testimonials/{row.id}").text


def test_a_link_ends_with_any_change_a_week_and_the_role(inbox, client, outsider, moved_clock):
    add_member(inbox.app, inbox.project, outsider, "moderator")
    moved_clock.move(seconds=1)
    decide_by_mail(inbox, open_browser(inbox.app, outsider))
    (maya,) = inbox.receive("Maya")
    path = mailed_link(inbox, outsider.email)
    # Only who chose it gets such a link.
    assert mailed_link(inbox) == f"{inbox.base}/decide/{maya}"
    assert client.get(path).status_code == 200
    assert client.get(f"{path[:-3]}abc").status_code == 410
    gone = inbox.client.post(f"{inbox.base}/people/{outsider.account_id}/remove")
    assert gone.status_code == 303
    assert client.post(path, data={"action": "approve"}).status_code == 410
    add_member(inbox.app, inbox.project, outsider, "moderator")
    # The choice ended with the membership, and a link lives only as long as the choice.
    assert client.get(path).status_code == 410
    decide_by_mail(inbox, open_browser(inbox.app, outsider))
    # Whoever reads mail at an address that the person has left decides nothing.
    for email, status in (("new@example.com", 410), (outsider.email, 200)):
        with inbox.app.app_context(), write():
            db.session.get_one(Account, outsider.account_id).email = email
        assert client.get(path).status_code == status
    form = {"text": "Other words", "author_name": "Maya", "submitted_on": "2024-01-01"}
    inbox.client.post(f"{inbox.base}/testimonials/{maya}", data=form)
    assert client.post(path, data={"action": "approve"}).status_code == 410
    moved_clock.move(minutes=6)
    (tom,) = inbox.receive("Tom")
    path = mailed_link(inbox, outsider.email)
    assert tom in path
    moved_clock.move(days=8)
    assert client.post(path, data={"action": "approve"}).status_code == 410
    rows = read_testimonials(inbox.app, inbox.project)
    assert {row.status for row in rows} == {"pending"}


@pytest.mark.postgres
def test_who_is_removed_while_their_link_waits_for_the_lock_decides_nothing(
    inbox, client, outsider
):
    add_member(inbox.app, inbox.project, outsider, "moderator")
    decide_by_mail(inbox, open_browser(inbox.app, outsider))
    inbox.receive("Maya")
    path = mailed_link(inbox, outsider.email)
    with ThreadPoolExecutor(1) as pool:
        with inbox.app.app_context(), write():
            owner = SignedIn("", inbox.owner.account_id, inbox.owner.email, None)
            access = find_access(owner, inbox.project, Role.OWNER, for_update=True)
            remove_member(access, outsider.account_id)
            waiting = pool.submit(client.post, path, data={"action": "approve"})
            wait_for(is_one_waiting_to_write)
        assert waiting.result().status_code == 410
    assert inbox.shown() == []
