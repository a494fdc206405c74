"""The public collection page: what visitors see, send, and where it goes."""

import html
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from testimonials.core import clock
from testimonials.core.images.colors import contrast
from testimonials.testimonials import models
from tests.conftest import Caller
from tests.support.rows import (
    change_project,
    change_testimonial,
    count_rows,
    expire_account,
    read_testimonials,
)
from tests.support.visitors import form_token

pytestmark = pytest.mark.recount

ATTACK = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
FILLED = {
    "text": "They listened.\nTwice.", "name": "Noor Haddad", "role": "Visitor",
    "company": "Haddad & Co", "email": "noor@example.com", "rating": "4", "consent": "yes",
    "subject": "",
}  # fmt: skip


@pytest.fixture(autouse=True)
def project(owner: Caller) -> str:
    return str(owner.create_project(businessName="Kiln & Clay", slug="kiln")["_id"])


def _token(client: FlaskClient, slug: str = "kiln") -> str:
    page = client.get(f"/{slug}")
    assert page.status_code == 200
    return form_token(page.text)


def _send(client: FlaskClient, slug: str = "kiln", **values: str) -> TestResponse:
    return client.post(f"/{slug}", data=FILLED | {"token": _token(client, slug)} | values)


def _refused(client: FlaskClient, app: Flask, **values: str) -> str:
    """Send what must be refused; return the page, read as a person reads it."""
    before = count_rows(app, models.Testimonial)
    answer = _send(client, **values)
    assert (answer.status_code, count_rows(app, models.Testimonial)) == (422, before)
    return html.unescape(answer.text)


def test_it_is_pending_with_its_consent(app, client, project):
    assert "<bdi>Kiln &amp; Clay</bdi> may show my words" in client.get("/kiln").text
    _send(client)
    (row,) = read_testimonials(app, project)
    assert (row.status, row.source, row.reviewed_at) == ("pending", "public_page", None)
    assert (row.author_name, row.author_role, row.author_company, row.author_email, row.rating) == (
        "Noor Haddad", "Visitor", "Haddad & Co", "noor@example.com", 4.0
    )  # fmt: skip
    assert row.text == "They listened.\nTwice."
    assert (row.consent_text or "").startswith("Kiln & Clay may show my words")
    assert (row.consent_language, row.consented_at) == ("en", row.submitted_at)


def test_what_is_pending_shows_nowhere(client, owner, project):
    tag = client.get(f"/widget/{project}/feed").headers["ETag"]
    _send(client)
    listed = owner.get(f"/v1/projects/{project}/testimonials")
    feed = client.get(f"/widget/{project}/feed")
    wall = client.get(f"/widget/{project}")
    assert listed.json["data"]["items"] == feed.json["items"] == []
    assert "listened" not in listed.text + feed.text + wall.text
    # Nothing that is shown has changed, so what is kept of it may stay.
    assert feed.headers["ETag"] == tag


def test_the_same_words_from_another_form_are_the_same_act_for_a_day(app, client, moved_clock):
    """A second tab, or going back and sending again, has a form of its own."""
    answers = [_send(client) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [303, 303]
    # Somebody who has read the words gets no link to what their author may do.
    assert ["yours=" in answer.headers["Location"] for answer in answers] == [True, False]
    assert client.get(answers[1].headers["Location"]).status_code == 200
    assert count_rows(app, models.Testimonial) == 1
    moved_clock.move(hours=25)
    assert (_send(client).status_code, count_rows(app, models.Testimonial)) == (303, 2)


def test_edited_words_are_still_the_same(app, client, project):
    _send(client)
    (row,) = read_testimonials(app, project)
    change_testimonial(app, row.id, original_text=row.text, text="Edited.")
    _send(client)
    assert count_rows(app, models.Testimonial) == 1
    for number, gone in enumerate(({"deleted_at": clock.now()}, {"status": "withdrawn"}), 2):
        change_testimonial(app, read_testimonials(app, project)[-1].id, **gone)
        _send(client)
        assert count_rows(app, models.Testimonial) == number


def test_a_change_after_going_back_stays(app, client, project):
    change_project(app, project, page_design={"asksInsider": True})
    token = _token(client)
    changes = [{}, {"text": "They listened. Three times."}, {"rating": "5"}, {"company": ""}]
    changes.append({"insider": "yes"})
    for change in (*changes, *changes):
        assert _send(client, token=token, **change).status_code == 303
    assert len(read_testimonials(app, project)) == len(changes)


def test_a_link_fills_in_what_is_asked_and_nothing_else(client):
    query = {
        "name": "  Aiko Tanaka ", "email": "aiko@example.com", "company": "Bäckerei & Co",
        "role": "Chef", "rating": "5", "text": "Not mine", "consent": "yes", "token": "x",
    }  # fmt: skip
    page = html.unescape(client.get("/kiln", query_string=query).text)
    for name, value in (("name", "Aiko Tanaka"), ("email", "aiko@example.com"), ("role", "Chef")):
        assert re.search(f'name="{name}"[^>]* value="{value}"', page)
    assert re.search('name="company"[^>]* value="Bäckerei & Co"', page)
    assert re.search('name="rating" value="5" checked', page)
    assert re.search(r'name="text"[^>]*>\s*</textarea>', page)
    assert not re.search('name="consent"[^>]* checked', page)
    # The language switch keeps it.
    assert re.search(r'href="\?name=[^"]*email=aiko[^"]*rating=5[^"]*lang=de"', page)


def test_rubbish_in_a_link_fills_in_nothing(app, client, project):
    rubbish = {"name": "x" * 121, "email": "a@b", "company": "a\0b", "role": "a\nb", "rating": "6"}
    page = client.get("/kiln", query_string=rubbish)
    assert (page.status_code, page.text.count(' value=""')) == (200, 5)
    assert "error-summary" not in page.text
    assert " checked" not in page.text
    none = dict.fromkeys(("email", "role", "company", "rating"), False)
    change_project(app, project, page_config={"collectFields": none})
    page = client.get("/kiln?name=Aiko&email=a@example.com&role=Chef&company=Co&rating=5")
    assert 'value="Aiko"' in page.text
    assert "Chef" not in re.sub('href="[^"]*"', "", page.text)


@pytest.mark.postgres
def test_two_posts_of_a_form_at_once_make_one(app, client):
    token = _token(client)

    def post(_: int) -> int:
        return _send(app.test_client(), token=token).status_code

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(post, range(8))) == {303}
    assert count_rows(app, models.Testimonial) == 1


def test_fields_are_refused_with_the_rule(app, client, project):
    for name, message in (
        ("text", "Write a sentence or two."),
        ("name", "Enter your name."),
        ("consent", "Tick this so that your words can be shown."),
    ):
        assert message in _refused(client, app, **{name: ""})
    assert _send(client, role="", company="", email="", rating="").status_code == 303
    (row,) = read_testimonials(app, project)
    assert (row.author_role, row.author_company, row.author_email, row.rating) == (
        "", None, None, None
    )  # fmt: skip
    for name, value, message in (
        ("text", "a\x1bb", "Remove the control characters."),
        ("name", "a\r\nb", "Use a single line."),
        ("rating", "4.5", "Choose from 1 to 5 stars, or none."),
        (
            "email",
            "x@mailinator.com",
            "Use a permanent email address. This domain provides disposable ones.",
        ),
    ):
        assert message in _refused(client, app, **{name: value})


def test_what_was_typed_stays_beside_what_is_wrong(app, client):
    page = _refused(client, app, email="noor@", rating="3")
    assert "Enter an email address like name@example.com, or leave it empty" in page
    assert "They listened.\nTwice.</textarea>" in page
    for name, value in (("name", "Noor Haddad"), ("role", "Visitor"), ("email", "noor@")):
        assert re.search(f'name="{name}"[^>]* value="{value}"', page)
    assert re.search('name="rating" value="3" checked', page)
    assert re.search('name="consent"[^>]* checked', page)
    assert re.search('name="email"[^>]*aria-invalid="true"', page, re.DOTALL)


def test_lengths_are_code_points(app, client, project):
    for name, most in (("text", 2000), ("name", 120), ("role", 120), ("company", 120)):
        longest = "😀" * most
        page = _refused(client, app, **{name: longest + "x"})
        assert f"Shorten this to {most} characters; it has {most + 1}." in page
        assert longest + "x" in page
        assert _send(client, **{name: f"  {longest}  "}).status_code == 303
        row = read_testimonials(app, project)[-1]
        assert getattr(row, "text" if name == "text" else f"author_{name}") == longest


def test_only_what_is_collected_is_kept(app, client, project):
    none = dict.fromkeys(("name", "email", "role", "company", "avatar", "rating"), False)
    change_project(app, project, page_config={"collectFields": none})
    page = client.get("/kiln").text
    for name in ("role", "company", "email", "rating"):
        assert f'name="{name}"' not in page
    assert 'name="name"' in page
    assert _send(client).status_code == 303
    (row,) = read_testimonials(app, project)
    assert (row.author_role, row.author_company, row.author_email, row.rating) == (
        "", None, None, None
    )  # fmt: skip
    assert row.author_name == "Noor Haddad"


def test_a_stale_or_foreign_token_is_refused_with_everything_kept_and_a_fresh_one(
    app, owner, moved_clock
):
    client = owner.client
    token = _token(client)
    foreign = _token(client, owner.create_project()["publicPageConfig"]["slug"])
    odd = "\udcff".encode("utf-8", "surrogatepass").decode("latin-1")
    for sent in ("", "é\u0000x", foreign, token[:-1], odd, token):
        if sent == token:
            moved_clock.move(hours=25)
        page = _refused(client, app, token=sent)
        assert "This page was open for a long time." in page
        assert "They listened." in page
        fresh = form_token(page)
        assert fresh not in (sent, token)
    assert _send(client, token=fresh).status_code == 303


def test_text_on_the_brands_colour_is_read(app, client, project):
    for button, asked, text in (
        ("#123456", "#FFFFFF", "#FFFFFF"), ("#FF7F50", "#FFFFFF", "#18181B"),
        ("#FF7F50", "#431407", "#431407"), ("#808080", "#FFFFFF", "#000000"),
    ):  # fmt: skip
        change_project(app, project, page_config={"buttonColor": button, "buttonTextColor": asked})
        answer = client.get("/kiln/theme.css")
        assert answer.headers["Content-Type"] == "text/css; charset=utf-8"
        assert f"{{--tm-button:{button};--tm-button-text:{text};" in answer.text
        assert f"--solid:light-dark({button}," in answer.text
        assert contrast(button, text) >= 4.5
    assert 'href="/kiln/theme.css"' in client.get("/kiln").text


def test_unknown_and_expired_pages_are_404(app, client, agent):
    slug = agent.create_project(businessName="Gone")["publicPageConfig"]["slug"]
    paths = ("", "/thanks", "/theme.css", "/card.css")
    for path in paths:
        assert client.get(f"/{slug}{path}").status_code == 200
    expire_account(app, agent.account_id)
    for path in paths:
        for name in (slug, "nobody", "%00", "%ff"):
            answer = client.get(f"/{name}{path}")
            assert answer.status_code == 404
            assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert client.post(f"/{slug}", data=FILLED).status_code == 404
    assert count_rows(app, models.Testimonial) == 0


def test_a_form_is_small(client, app):
    answer = _send(client, text="a" * 300_000)
    assert (answer.status_code, "256 KiB" in answer.text) == (413, True)
    assert count_rows(app, models.Testimonial) == 0
