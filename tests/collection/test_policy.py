"""The page that says how a project collects: each sentence follows what the project does."""

import html
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from selectolax.lexbor import LexborHTMLParser
from sqlalchemy import delete, update

from testimonials.auth.tokens import Scope
from testimonials.collection import pages
from testimonials.collection.models import MailedRequest
from testimonials.core import clock
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.i18n import LANGUAGES
from testimonials.core.http.urls import own_hosts
from testimonials.projects.models import CustomDomain
from testimonials.testimonials import models
from tests.auth.tokens import give_token
from tests.collection.authors.authors import Visitor
from tests.conftest import Caller
from tests.support.rows import add_testimonial, add_widget, change_project, read_testimonials
from tests.support.visitors import form_token

STEP = {"id": "bbbbbbbb", "kind": "code", "title": "A bun", "text": "On us.", "url": ""}
STEP |= {"copies": False, "code": "BUN-7K2F", "until": None}
WEBSITE = "https://www.oat.example"
LAST = clock.EPOCH + timedelta(days=365 * 200)
ASIDE = {
    "spam": "Set aside because they are spam: 1.",
    "abusive": "Set aside because they are abusive or unlawful: 1.",
    "off_topic": "Set aside because they are off topic: 1.",
    "not_customer": "Set aside because the author is not a customer: 1.",
    "same_person": "Set aside because the same person wrote twice: 1.",
    "withdrawn": "Withdrawn by their authors: 1.",
}
EVERYTHING = "Our page of testimonials shows every genuine one that we received."


class Shop:
    """A project, whose owner does things through the API."""

    def __init__(self, app: Flask, client: FlaskClient, owner: Caller, project: str) -> None:
        self.app, self.client, self.owner, self.project = app, client, owner, project

    def post(self, path: str, **body: Any) -> None:
        answer = self.owner.post(f"/v1/projects/{self.project}/{path}", body)
        assert answer.status_code in (200, 201), answer.text

    def patch(self, path: str, **body: Any) -> None:
        answer = self.owner.patch(f"/v1/projects/{self.project}/{path}", body)
        assert answer.status_code in (200, 201), answer.text

    def add(self, **values: Any) -> str:
        return add_testimonial(self.app, self.project, **values)

    def design_page(self, **values: Any) -> None:
        self.patch("page-design", **values)

    def design_widget(self, **values: Any) -> None:
        self.patch("widget-design", **values)

    def decide(self, decision: str, *ids: str, **values: str) -> None:
        self.post("submissions/decisions", decision=decision, ids=list(ids), **values)

    def read(self, query: str = "") -> str:
        answer = self.client.get(f"/oat/how-we-collect{query}")
        assert answer.status_code == 200
        return html.unescape(answer.text)


@pytest.fixture
def shop(app: Flask, client: FlaskClient, owner: Caller) -> Shop:
    made = owner.create_project(slug="oat", businessName="Oat & Ember", skipDemoTestimonials=True)
    return Shop(app, client, give_token(app, owner, *Scope), str(made["_id"]))


Act = Callable[[Shop], Any]
# What is done, the sentence of before, and the one that takes its place.
CHANGES: dict[str, tuple[Act, str, str]] = {
    "paused": (
        lambda shop: change_project(shop.app, shop.project, status="paused"),
        "Anyone with the address of our page can write, without an account.",
        "Nobody can write right now: the page isn’t taking testimonials.",
    ),
    "asked": (
        lambda shop: shop.post("requests", people=[{"email": "a@example.com"}]),
        "",
        "We also ask people by email.",
    ),
    "links": (
        lambda shop: shop.post("purchase-links", order="7"),
        "We have no proof that the authors shown here bought anything.",
        "Verified in this way: 0 of the 0 shown.",
    ),
    "proved": (
        lambda shop: (shop.add(), shop.add(purchase_verified_at=clock.EPOCH)),
        "We have no proof that the authors shown here bought anything.",
        "Verified in this way: 1 of the 2 shown.",
    ),
    "rejected": (
        lambda shop: (shop.add(), shop.decide("reject", shop.add(status="pending"))),
        EVERYTHING,
        "Our page of testimonials shows a selection: 1 of 2 genuine ones.",
    ),
    "stars": (
        lambda shop: shop.design_widget(minRating=4),
        "",
        "Some of our widgets show only ratings of 4 stars or more.",
    ),
    "length": (
        lambda shop: shop.design_widget(minLength=40),
        "",
        "Some of our widgets show only what we selected, or longer testimonials.",
    ),
    "tags": (
        lambda shop: shop.design_widget(tags=["bread"]),
        "",
        "Some of our widgets show only what we selected, or longer testimonials.",
    ),
    "saved": (
        lambda shop: (
            shop.design_widget(minRating=5),
            add_widget(shop.app, shop.project, "shop"),
            shop.design_widget(minRating=0),
        ),
        "",
        "Some of our widgets show only ratings of 5 stars or more.",
    ),
    "samples": (
        lambda shop: shop.add(status="demo", source="demo"),
        "",
        "Samples, which nobody sent, are marked and never counted.",
    ),
    "counted": (
        lambda shop: (shop.add(rating=5), shop.add(rating=1, status="rejected")),
        "shown or not: 0.",
        "The average counts every genuine rating, shown or not: 2.",
    ),
    "old": (
        lambda shop: change_project(
            shop.app,
            shop.project,
            old_numbers={"stars": [0, 0, 0, 0, 1], "total": 5_000_000_000},
            numbers_from=LAST,
        ),
        "The average counts every genuine rating",
        "at the latest, the average counts only ratings that we approved.",
    ),
    "visitors": (
        lambda shop: shop.add(),
        "Written by visitors: 0.",
        "Written by visitors: 1.",
    ),
    "written in": (
        lambda shop: shop.post("testimonials", authorName="Theo", text="Rye."),
        "Added by us or our software: 0.",
        "Added by us or our software: 1.",
    ),
    "imported": (
        lambda shop: shop.add(source="import"),
        "Imported from elsewhere: 0.",
        "Imported from elsewhere: 1.",
    ),
    "waiting": (
        lambda shop: shop.add(status="pending"),
        "",
        "Waiting for our decision: 1. They count after 14 days at the latest.",
    ),
    "held": (
        lambda shop: shop.add(status="spam"),
        "",
        "Held by the spam check: 1. They count once we release them.",
    ),
    "reward": (
        lambda shop: shop.design_page(steps=[STEP]),
        "We don’t offer anything for writing.",
        "Everyone who writes gets this, whatever they say: “<bdi>A bun: On us.</bdi>”",
    ),
    "reward that ends": (
        lambda shop: shop.design_page(steps=[STEP | {"until": "2200-12-31"}]),
        "We don’t offer anything for writing.",
        "until December 31, 2200 gets this, whatever they say: “<bdi>A bun: On us.</bdi>”",
    ),
    "rewarded": (
        lambda shop: shop.add(is_rewarded=True),
        "",
        "Shown, and marked because the author was offered a thank-you: 1.",
    ),
    "insider": (
        lambda shop: shop.add(is_insider=True),
        "As far as we know, none of the authors shown works here or is related.",
        "Shown, and marked because the author works here or is related: 1.",
    ),
    "asked for insiders": (
        lambda shop: shop.design_page(asksInsider=True),
        "The form doesn’t ask if authors work here or are related to someone who does.",
        "The form asks if authors work here or are related to someone who does.",
    ),
    "website": (
        lambda shop: change_project(shop.app, shop.project, page_config={"website": WEBSITE}),
        "",
        "Anyone who writes with an email address of our domain is always marked.",
    ),
    "translated": (
        lambda shop: shop.add(translated_from="pl"),
        "Everything is shown in its author’s own words.",
        "Shown in a translation, and marked: 1.",
    ),
    "edited": (
        lambda shop: shop.add(original_text="Seen on the page. And late."),
        "Everything is shown in its author’s own words.",
        "Edited since they were sent: 1. Edits that aren’t the author’s own are marked.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_each_sentence_follows_what_is_done(shop, name):
    act, before, after = CHANGES[name]
    page = shop.read()
    assert before in page
    assert after not in page
    act(shop)
    page = shop.read()
    assert after in page
    assert not before or before not in page


def test_pages_are_the_same_whichever_stars_are_chosen(shop):
    """But for the star itself, and what is secret in each page."""
    assert "The form is the same for everyone, whichever stars they choose." in shop.read()
    shop.design_page(steps=[STEP])
    first, *others = (read_pages(shop, stars) for stars in "15")
    assert others == [first]


# Which stars they are, the words beside them, and tokens.
DIFFERS = re.compile(r"(?<=rating=)[15]|(?<=Rated )[15]|[15] buns|W[\w-]+\.[\w-]+\.[\w-]+")


def read_pages(shop: Shop, stars: str) -> list[list[str]]:
    """Return what the form, the page of thanks, the form with an error and the author's own page
    consist of, but for drawings."""
    visitor = shop.app.test_client()
    form = visitor.get(f"/oat?rating={stars}").text
    sent = {"text": f"Good: {stars} buns.", "name": "Vera", "consent": "yes", "rating": stars}
    done = visitor.post("/oat", data=sent | {"token": form_token(form)}, follow_redirects=True).text
    wrong = visitor.post("/oat", data=sent | {"name": "", "token": form_token(form)}).text
    (own,) = set(re.findall(r"/yours/[\w.-]+", done))
    return [list(read_parts(page)) for page in (form, done, wrong, visitor.get(own).text)]


def read_parts(page: str) -> Iterator[str]:
    tree = LexborHTMLParser(page)
    tree.strip_tags(["svg", "time"], recursive=True)
    for node in tree.css("*"):
        leads = [node.attributes.get(name) for name in ("href", "action", "name", "class")]
        yield DIFFERS.sub("", f"{node.tag} {leads} {node.text(deep=False).strip()}")


def test_a_paused_page_promises_nothing(shop):
    shop.design_page(steps=[STEP])
    shop.add()
    change_project(shop.app, shop.project, status="paused")
    page = shop.read()
    assert "We don’t offer anything for writing." in page
    assert "shows a selection: 0 of 1" in page


@pytest.mark.parametrize("reason", ASIDE)
def test_each_reason_is_counted(shop, reason):
    one = shop.add(rating=1)
    page = shop.read()
    assert "We have set none aside." in page
    shop.decide("set-aside", one, reason=reason)
    page = shop.read()
    assert "We have set none aside." not in page
    assert [each for each in ASIDE.values() if each in page] == [ASIDE[reason]]
    # Deleting it for good doesn't hide that.
    with shop.app.app_context(), write():
        db.session.execute(delete(models.Testimonial))
    page = shop.read()
    assert [each for each in ASIDE.values() if each in page] == [ASIDE[reason]]
    assert "We have set none aside." not in page


def test_stars_of_deleted_words_count_and_the_trash_has_an_end(shop):
    one = shop.add(rating=2)
    shop.decide("delete", one)
    page = shop.read()
    assert "shown or not: 1." in page
    assert "Deleted testimonials are erased after 30 days." in page
    assert "shows a selection: 0 of 1" in page


def test_only_its_author_changes_a_visitors_stars(shop):
    visitor = Visitor(shop.client, shop.project, "oat")
    path, ours = visitor.write(rating="2"), shop.add(source="manual", rating=5)
    said = (
        "Only authors can change their stars. They count even if we delete the words, unless we "
        "give a reason. We can change and delete what we added or imported."
    )
    assert said in shop.read()
    (theirs,) = (row.id for row in read_testimonials(shop.app, shop.project) if row.id != ours)
    shop.decide("approve", theirs)
    for one, code in ((theirs, 409), (ours, 200)):
        url = f"/v1/projects/{shop.project}/testimonials/{one}"
        assert shop.owner.patch(url, {"rating": 4}).status_code == code
    shop.decide("delete", theirs, ours)
    assert "shown or not: 1." in shop.read()
    shop.decide("restore", theirs)
    visitor.post(f"{path}/correct", text="Well.", name="Noor", rating="1")
    shop.decide("approve", theirs)
    url = f"/v1/projects/{shop.project}/submissions?status=approved"
    assert [each["rating"] for each in shop.owner.get(url).json["data"]["items"]] == [1]
    own = "Authors can change, withdraw or erase their words with a personal link."
    assert own in shop.read()
    visitor.post(f"{path}/withdraw")
    assert "Withdrawn by their authors: 1." in shop.read()
    visitor.post(f"{path}/delete")
    page = shop.read()
    assert "Written by visitors: 0." in page
    assert "Withdrawn by their authors: 1." in page


def test_who_came_by_a_link_for_an_order_is_a_verified_customer_once(shop):
    link = shop.owner.post(f"/v1/projects/{shop.project}/purchase-links", {"order": "7"})
    token = link.json["data"]["url"].partition("purchase=")[2]
    for words in ("Rye.", "Rye again."):
        form = shop.client.get(f"/oat?purchase={token}").text
        sent = {"text": words, "name": "Vera", "consent": "yes", "purchase": token}
        shop.client.post("/oat", data=sent | {"token": form_token(form)})
    rows = read_testimonials(shop.app, shop.project)
    shop.decide("approve", *(row.id for row in rows))
    page = shop.read()
    assert (
        "“Verified customer” means that the author used a link made for one order, which works "
        "for one testimonial."
    ) in page
    assert "Verified in this way: 1 of the 2 shown." in page


def test_who_came_by_a_mail_about_an_order_is_told_apart(shop):
    said = "Of these, by a link that we emailed about the order: 1."
    one = shop.add(purchase_verified_at=clock.EPOCH)
    shop.add(purchase_verified_at=clock.EPOCH)
    shop.post("requests", people=[{"email": "a@example.com", "order": "7"}])
    assert said not in shop.read()
    with shop.app.app_context(), write():
        db.session.execute(update(MailedRequest).values(testimonial_id=one))
    assert said in shop.read()


def test_the_trash_may_end_after_a_day_or_never(shop, make_app):
    for days, said in ((1, "Deleted testimonials are erased after a day."), (0, "")):
        page = make_app(trash_days=days).test_client().get("/oat/how-we-collect").text
        assert re.findall(r"Deleted testimonials are erased[^<]*", page) == [said] * bool(said)


def test_each_sentence_is_in_a_test():
    """Whoever adds one to the page says here what changes it."""
    here = re.sub(r'"\s*\n\s*"', "", Path(__file__).read_text())
    page = (Path(pages.__file__).parents[1] / "templates/collection/policy.html").read_text()
    headings = re.findall(r"call part\(\d, _\('([^']+)'\)", page)
    assert len(headings) == 8
    body, _end, _links = page.partition('aria-labelledby="part-complain"')
    for said in re.findall(r"[_,(] ?\(?'([A-Z“][^']+)'", body[body.index("{% call part(1") :]):
        longest = max(re.split(r"%\(\w+\)s", said), key=len).strip()
        assert longest in here or said in headings, said


def test_on_a_host_of_their_own_and_below_a_path(shop, make_app):
    """Its own address, and those of what it leads to, are where it stands."""
    change_project(shop.app, shop.project, own_host="reviews.oat.example")
    host = {"host": "reviews.oat.example", "token": "t", "is_held": True}
    with shop.app.app_context(), write():
        db.session.add(CustomDomain(project_id=shop.project, **host))
    with shop.app.app_context():
        own_hosts().forget()
    page = shop.client.get("/how-we-collect", base_url="https://reviews.oat.example").text
    assert 'rel="canonical" href="https://reviews.oat.example/how-we-collect"' in page
    assert 'href="/report?page=collection' in page
    assert 'href="https://reviews.oat.example/how-we-collect"' in shop.client.get("/oat/wall").text
    app = make_app(base_url="https://shop.example/said")
    change_project(app, shop.project, own_host=None)
    page = app.test_client().get("/oat/how-we-collect", base_url="https://shop.example/said").text
    assert 'rel="canonical" href="https://shop.example/said/oat/how-we-collect"' in page
    assert 'href="/said/oat/report?page=collection' in page
    assert not re.findall(r'(?:href|src|action)="/(?!said/)[^"]*"', page)


def test_it_is_one_click_away_in_each_language(shop):
    one = shop.add()
    for path in ("/oat", "/oat/wall", f"/oat/{one}", "/oat/thanks"):
        # Below the wall the widget has the link, as a whole address.
        assert '/oat/how-we-collect"' in shop.client.get(path).text, path
    for language in LANGUAGES:
        page = shop.read(f"?lang={language.code}")
        assert f'<html lang="{language.code}" dir="{language.direction}"' in page
        assert f"/oat/how-we-collect?lang={language.code}" in page
        assert "/oat/report?page=collection" in page


@pytest.mark.parametrize(
    ("asks", "said", "email", "is_insider"),
    [
        (True, {"insider": "yes"}, "a@gmail.com", True),
        (True, {}, "a@gmail.com", False),
        (False, {"insider": "yes"}, "a@gmail.com", False),
        (False, {}, "mira@oat.example", True),
        (False, {}, "Mira@Shop.Oat.Example", True),
        (False, {}, "mira@notoat.example", False),
    ],
)
def test_who_works_here_is_marked(shop, asks, said, email, is_insider):
    change_project(
        shop.app, shop.project, page_config={"website": WEBSITE, "collectFields": {"email": True}}
    )
    shop.design_page(asksInsider=asks)
    assert ('name="insider"' in shop.client.get("/oat").text) is asks
    visitor = Visitor(shop.client, shop.project, "oat")
    visitor.write(email=email, **said)
    assert visitor.row().is_insider is is_insider
    told = shop.owner.get(f"/v1/projects/{shop.project}/submissions").json["data"]["items"]
    assert told[0].get("insider", False) is is_insider


def test_a_mail_provider_is_nobodys_website(shop):
    config = {"website": "https://gmail.com", "collectFields": {"email": True}}
    change_project(shop.app, shop.project, page_config=config)
    visitor = Visitor(shop.client, shop.project, "oat")
    visitor.write(email="a@gmail.com")
    assert not visitor.row().is_insider
