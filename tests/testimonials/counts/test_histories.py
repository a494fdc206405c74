"""What happens to testimonials through the doors, and the numbers that all doors say then.

The model here knows nothing of how the product counts.
"""

import copy
import html
import io
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from testimonials.collection import author_erasure, author_rights
from testimonials.core import clock
from testimonials.core.chain import read_log
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials import models
from testimonials.testimonials.counts import find_wrong_counts, read_numbers
from testimonials.testimonials.models import OVERDUE_DAYS, REASONS
from testimonials.testimonials.moderation import empty_trash
from testimonials.testimonials.new_numbers import mark_overdue
from testimonials.testimonials.record_heads import add_up
from testimonials.transfer.archives.comparing import Differences
from testimonials.transfer.archives.reading import open_archive
from testimonials.transfer.archives.writing import finish_records, reading_snapshot, write_archive
from tests.auth.tokens import give_token
from tests.conftest import Caller
from tests.support.applications import change_settings
from tests.support.sampling import rounds
from tests.support.visitors import form_token
from tests.testimonials.counts.test_numbers import Reader, Said, make_project

STEPS = 14
# So many projects are a test of their own, so that a thousand can be shared out.
PART = 50


@dataclass
class Told:
    """What a test knows of a testimonial."""

    rating: float | None
    is_visitors: bool
    state: str
    reason: str | None = None
    is_trashed: bool = False
    is_overdue: bool = False
    is_gone: bool = False
    # Once its author sent it again, and what it was when its author withdrew it.
    is_returned: bool = False
    was: str = ""

    @property
    def counts(self) -> bool:
        if self.reason or self.state in ("spam", "withdrawn"):
            return False
        if self.is_gone:
            return self.is_visitors and self.rating is not None
        if self.is_trashed:
            return self.is_visitors
        return self.state != "pending" or self.is_overdue


class History:
    """Whatever happens to the testimonials of one project."""

    def __init__(self, app: Flask, owner: Caller, project: dict[str, Any], seed: int) -> None:
        self.app, self.agent = app, give_token(app, owner)
        self.random, self.visitor = random.Random(seed), app.test_client()
        self.id, self.slug = project["_id"], project["publicPageConfig"]["slug"]
        self.path, self.told, self.undo = f"/v1/projects/{self.id}", dict[str, Told](), ""

    def step(self) -> None:
        ways: list[Callable[[], None]] = [
            self.send, self.send, self.send, self.add, self.bring, self.decide, self.decide,
            self.decide, self.decide, self.rate, self.author, self.author, self.purge, self.wait,
        ]  # fmt: skip
        self.random.choice(ways)()

    def pick(self) -> list[str]:
        there = [id for id, each in self.told.items() if not each.is_gone]
        return self.random.sample(there, self.random.randint(0, min(3, len(there))))

    def send(self) -> None:
        """A visitor writes on the collection page."""
        stars = self.random.choice(("", "1", "2", "3", "4", "5"))
        number = f"{self.random.random()}"[2:8]
        token = form_token(self.visitor.get(f"/{self.slug}").text)
        form = {"text": f"Bread number {number}.", "name": f"Noor {number}", "rating": stars}
        sent = self.visitor.post(
            f"/{self.slug}",
            data=form | {"consent": "yes", "token": token},
            environ_base={"REMOTE_ADDR": f"10.{self.random.randint(1, 250)}.{number[:2]}.9"},
        )
        assert sent.status_code == 303, sent.text
        with self.app.app_context():
            of = (
                models.Testimonial.project_id == self.id,
                models.Testimonial.author_name == form["name"],
            )
            row = db.session.scalars(select(models.Testimonial).where(*of)).one()
            self.told[row.id] = Told(float(stars) if stars else None, True, row.status)

    def add(self) -> None:
        """The owner writes one in, or their program does."""
        rating = self.random.choice((None, 1, 2.5, 4.5, 5))
        body = {"authorName": "Maya", "text": "Lovely."} | ({"rating": rating} if rating else {})
        made = self.agent.post(f"{self.path}/testimonials", body)
        assert made.status_code == 200, made.text
        self.told[made.json["data"]["_id"]] = Told(rating, False, "approved")

    def bring(self) -> None:
        """Some are brought from elsewhere at once."""
        ratings = [self.random.choice((1, 3, 5)) for _ in range(2)]
        sent = [{"authorName": "Li", "text": f"Fresh {each}.", "rating": each} for each in ratings]
        made = self.agent.post(f"{self.path}/testimonials/bulk", {"testimonials": sent})
        assert made.status_code == 200, made.text
        for each, rating in zip(made.json["data"]["results"], ratings, strict=True):
            self.told[each["testimonialId"]] = Told(rating, False, "approved")

    def decide(self) -> None:
        """Decide about some, and at once or never take it back."""
        if not (ids := self.pick()):
            return
        name = self.random.choice(
            ("approve", "reject", "reject", "set-aside", "delete", "restore", "release")
        )
        reason = self.random.choice(REASONS) if name == "set-aside" else ""
        if name == "delete" and self.random.random() < 0.4:
            reason = self.random.choice(REASONS)
        before = copy.deepcopy(self.told)
        body = {"decision": name, "ids": ids} | ({"reason": reason} if reason else {})
        done = self.agent.post(f"{self.path}/submissions/decisions", body)
        assert done.status_code == 200, done.text
        for id in ids:
            decide(self.told[id], name, reason)
        if done.json["data"].get("undo") and self.random.random() < 0.3:
            undo = {"undo": done.json["data"]["undo"]}
            assert self.agent.post(f"{self.path}/undo", undo).status_code == 200
            self.told = before

    def rate(self) -> None:
        """The owner wants other stars."""
        for id in self.pick()[:1]:
            told, rating = self.told[id], self.random.choice((None, 1, 5))
            answer = self.agent.patch(f"{self.path}/testimonials/{id}", {"rating": rating})
            if told.is_visitors and rating != told.rating:
                assert answer.status_code == 409
            elif answer.status_code == 200:
                told.rating = rating

    def author(self) -> None:
        """Its author comes back by their link."""
        for id in self.pick()[:1]:
            told = self.told[id]
            if not told.is_visitors:
                continue
            with self.app.app_context(), write():
                row = db.session.get_one(models.Testimonial, id)
                own = author_rights.find_own(author_rights.make_author_token(row), for_update=True)
                wish = self.random.choice(("withdraw", "correct", "correct", "consent", "erase"))
                if wish == "withdraw" and told.state != "withdrawn":
                    author_rights.withdraw(own)
                    told.was, told.state = told.state, "withdrawn"
                elif wish == "correct" and own.can_correct:
                    stars = self.random.choice((1, 2, 3, 4, 5))
                    if author_rights.correct(own, {"rating": float(stars)}):
                        told.rating = stars
                        if told.state in ("approved", "rejected"):
                            told.state, told.reason = "pending", None
                elif wish == "consent" and own.can_consent:
                    author_rights.consent_again(own)
                    told.state = told.was if told.was in ("rejected", "spam") else "pending"
                    if told.state == "pending":
                        told.reason = None
                elif wish == "erase":
                    author_erasure.erase(own)
                    author_erasure.record_erased(own)
                    told.is_gone, told.reason = True, "withdrawn"

    def purge(self) -> None:
        """What is in the trash, or was rejected long ago, is removed for good."""
        row, old = models.Testimonial, clock.now() - timedelta(days=40)
        with self.app.app_context(), write():
            trash = update(row).where(row.project_id == self.id, row.deleted_at.is_not(None))
            db.session.execute(trash.values(deleted_at=old))
            rejected = update(row).where(row.project_id == self.id, row.status == "rejected")
            db.session.execute(rejected.values(updated_at=old))
            empty_trash(100)
        for told in self.told.values():
            told.is_gone |= told.is_trashed or told.state == "rejected"

    def wait(self) -> None:
        """Nobody decides for 14 days."""
        with self.app.app_context(), write():
            old = update(models.Testimonial).where(
                models.Testimonial.project_id == self.id, models.Testimonial.status == "pending"
            )
            then = clock.now() - timedelta(days=OVERDUE_DAYS, minutes=1)
            db.session.execute(old.values(created_at=then))
            mark_overdue()
        for told in self.told.values():
            if told.state == "pending" and not (told.is_trashed or told.is_gone):
                told.is_overdue = True

    def expect(self) -> tuple[Said, int, list[int]]:
        """Return the average and number, how many are genuine, and how many have which stars."""
        genuine = [each for each in self.told.values() if each.counts]
        ratings = [each.rating for each in genuine if each.rating is not None]
        average = int(sum(ratings) / len(ratings) * 10 + 0.5 + 1e-9) / 10 if ratings else 0
        stars = [sum(int(each + 0.5) == number for each in ratings) for number in range(1, 6)]
        return (average, len(ratings)), len(genuine), stars


def decide(told: Told, name: str, reason: str) -> None:
    """Do to what is told of a testimonial what a decision does to it."""
    may_be_set_aside = told.state in ("pending", "approved", "rejected") and not told.reason
    is_aside = told.state == "rejected" and told.reason
    if name == "approve" and not told.is_trashed and (told.state in ("pending", "rejected")):
        told.state, told.reason = "approved", None
    elif name == "reject" and not told.is_trashed:
        if told.state in ("pending", "approved") or is_aside:
            told.state, told.reason = "rejected", None
    elif name == "restore":
        told.is_trashed = False
    elif name == "release" and not told.is_trashed and told.state == "spam":
        told.state, told.reason = "pending", None
    elif name == "set-aside" or (name == "delete" and not told.is_trashed):
        if name == "delete":
            told.is_trashed = True
        if reason and may_be_set_aside:
            told.state = reason if reason in ("spam", "withdrawn") else "rejected"
            told.reason = reason


def find_differences(app: Flask, project_id: str) -> Differences:
    """Return how an archive of the project differs from the record in it.

    What was set aside and is gone is no difference.
    """
    out = io.BytesIO()
    with app.app_context():
        finish_records(Project.id == project_id)
        with reading_snapshot():
            write_archive(db.session.get_one(Project, project_id), out)
        with open_archive(out) as archive:
            return replace(archive.differences, aside=Counter())


@pytest.mark.postgres
@pytest.mark.parametrize("part", range(rounds(1, 20)))
def test_all_doors_agree_with_what_happened(app, owner, part):
    change_settings(app, project_limit=10_000, rejected_days=30)
    reader = Reader(app, owner)
    for seed in range(part * PART, (part + 1) * PART):
        project = make_project(app, owner)
        history = History(app, owner, project, seed)
        for _ in range(STEPS):
            history.step()
        said, genuine, by_stars = history.expect()
        doors = reader.read(project)
        assert set(doors.values()) == {said}, (seed, doors, history.told)
        with app.app_context():
            numbers = read_numbers(db.session.get_one(Project, project["_id"]))
        assert (list(numbers.stars), numbers.genuine) == (by_stars, genuine), seed
        with history.agent.get(f"{history.path}/case-file") as answer:
            case = answer.json["data"]["numbers"]
        assert (case["average"], case["count"], case["genuine"]) == (*said, genuine), seed
        policy = reader.browser.get(f"/{history.slug}/how-we-collect").text
        assert f"shown or not: {said[1]}." in html.unescape(policy), seed
        # An address may fetch 60 logs an hour.
        reads = {"REMOTE_ADDR": f"10.9.{seed // 250}.{seed % 250}"}
        with reader.browser.get(f"/record/{history.id}/log", environ_base=reads) as answer:
            log = read_log(answer.data) if history.told else None
        assert not log or {each["testimonial"] for each in log.entries} == set(history.told)
        if log and not any(each.is_overdue for each in history.told.values()):
            assert add_up(log) == (said[1], said[0]), (seed, history.told)
            assert find_differences(app, history.id) == Differences(), (seed, history.told)
        # What a door keeps in memory must follow each step.
        for _ in range(4):
            history.step()
            said, genuine, _ = history.expect()
            header = reader.browser.get(f"/widget/{project['_id']}/feed").json["header"]
            found = (header["average"], header["count"], header["people"])
            assert found == (*said, genuine), (seed, history.told)
    with app.app_context():
        assert find_wrong_counts(db.session.connection()) == []
