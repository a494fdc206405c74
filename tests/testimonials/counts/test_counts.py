"""Counts after anything that may happen, by the services and behind their backs."""

import random
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from testimonials.core import clock
from testimonials.core.db import transactions
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, lock_for_writing
from testimonials.core.http.errors import ServiceError
from testimonials.projects.models import Project
from testimonials.projects.projects import lock_project
from testimonials.testimonials import history, models
from testimonials.testimonials.counts import count_days, count_forms, find_wrong_counts, recount
from testimonials.testimonials.fields import count_answers
from testimonials.testimonials.history import change_all
from testimonials.testimonials.inbox import count_tabs, find_rows
from testimonials.testimonials.moderation import WITH_REASON, apply_action
from testimonials.testimonials.tags import add_tag, delete_tag, list_project_tags, rename_tag
from testimonials.testimonials.undo import undo_last
from testimonials.widget.selection import EVERYTHING, Content, count_shown
from testimonials.widget.settings import describe_header, rate
from testimonials.widget.wall import count_figures
from tests.support.plans import explain_statements
from tests.support.sampling import rounds

STATUSES = ("pending", "approved", "rejected", "spam", "demo", "withdrawn")
DECISIONS = ("approve", "reject", "set-aside", "delete", "restore", "release")
# Halves, those between them, and what has no end in binary.
RATINGS = (None, 1.0, 1.4, 2.5, 3.49, 3.5, 4.0, 4.3, 4.499999, 4.5, 13 / 3, 5.0)
QUESTIONS = ("why", 'a "quoted" one')
NAMES = ("press", "Ärzte", "東京", "a/b")
WHO = "walker@example.com"


def is_genuine(row: models.Testimonial) -> bool:
    """Tell whether the rating of a testimonial counts."""
    if "demo" in (row.status, row.source) or row.set_aside or row.status in ("spam", "withdrawn"):
        return False
    if row.source != "public_page" and row.deleted_at:
        return False
    return row.status != "pending" or bool(row.deleted_at) or row.is_overdue


class Walk:
    """Somebody who does at random what can be done to testimonials."""

    def __init__(self, seed: int, projects: list[str]) -> None:
        self.random, self.projects = random.Random(seed), projects
        # Project and rating of what was removed for good, and counts on.
        self.kept: list[tuple[str, float]] = []
        self.removed: list[tuple[str, float]] = []

    def step(self) -> None:
        """Do one thing, in one transaction, and now and then take it back."""
        ways: list[Callable[[], object]] = [
            self.add, self.add, self.add_many, self.decide, self.decide, self.tag, self.tag,
            self.rate, self.rate_all, self.trash, self.undo, self.remove, self.retag, self.photo,
            self.answer_again, self.wait,
        ]  # fmt: skip
        self.removed = []
        with suppress(ServiceError, IntegrityError), write():
            self.random.choice(ways)()
            db.session.flush()
            if self.random.random() < 0.1:
                self.removed = []
                db.session.rollback()
        self.kept += self.removed

    def project(self) -> Project:
        return lock_project(self.random.choice(self.projects))

    def rows(self, project: Project) -> list[models.Testimonial]:
        query = select(models.Testimonial).where(models.Testimonial.project_id == project.id)
        found = list(db.session.scalars(query.order_by(models.Testimonial.id)))
        return self.random.sample(found, self.random.randint(0, len(found)))

    def values(self, project: Project) -> dict[str, Any]:
        now, pick = clock.now(), self.random.choice
        return {
            "id": new_identifier(), "project_id": project.id, "status": pick(STATUSES),
            "source": pick(("public_page", "manual", "import")),
            "form_name": pick((None, "Guests")), "author_name": "Visitor", "author_role": "",
            "text": "Counted.", "rating": pick(RATINGS), "answers": self.answer(),
            "author_avatar": pick((None, "https://example.com/a.png")),
            "twitter": pick((None, {"avatarUrl": None}, {"avatarUrl": "https://example.com/b"})),
            "submitted_at": now - timedelta(hours=self.random.randint(0, 90)),
            "created_at": now, "updated_at": now, "deleted_at": pick((None, None, None, now)),
        }  # fmt: skip

    def names(self) -> list[str]:
        return self.random.sample(NAMES, self.random.randint(0, 3))

    def add(self) -> None:
        db.session.add(row := models.Testimonial(**self.values(self.project())))
        row.tags = self.names()

    def add_many(self) -> None:
        project = self.project()
        rows = [self.values(project) for _ in range(self.random.randint(1, 30))]
        db.session.execute(insert(models.Testimonial), rows)
        tags = [
            {"testimonial_id": row["id"], "project_id": project.id, "name": name}
            for row in rows
            for name in self.names()
        ]
        if tags:
            db.session.execute(insert(models.TestimonialTag), tags)

    def decide(self) -> None:
        project = self.project()
        name = self.random.choice(DECISIONS)
        reason = self.random.choice(models.REASONS) if name in WITH_REASON else ""
        apply_action(project, self.rows(project), name, WHO, reason=reason)

    def tag(self) -> None:
        project, name = self.project(), self.random.choice(NAMES)
        add_tag(project, [row.id for row in self.rows(project)], name, WHO)

    def retag(self) -> None:
        project = self.project()
        known = [tag.name for tag in list_project_tags(project.id)]
        if known and self.random.random() < 0.5:
            delete_tag(project, self.random.choice(known), WHO)
        elif known:
            name, new = self.random.choice(known), self.random.choice(NAMES)
            rename_tag(project, name, new, WHO)

    def rate(self) -> None:
        project = self.project()
        rows = [(row, {"rating": self.random.choice(RATINGS)}) for row in self.rows(project)]
        change_all(project, rows, WHO, "edit")

    def rate_all(self) -> None:
        moved = update(models.Testimonial).values(rating=self.random.choice(RATINGS), kind="voice")
        if self.random.random() < 0.5:
            moved = moved.values(source="manual", submitted_at=clock.now() - timedelta(days=9))
        db.session.execute(moved.where(models.Testimonial.id > new_identifier()[:1]))
        db.session.execute(update(models.TestimonialTag).values(name="one").where(
            models.TestimonialTag.name == self.random.choice(NAMES)))  # fmt: skip

    def answer(self) -> list[dict[str, Any]] | None:
        ids = [*QUESTIONS, QUESTIONS[0]][: self.random.randint(0, 3)]
        said = {"question": "Why?", "kind": "text", "answer": "Yes", "isPublic": False}
        return [{"id": each} | said for each in ids] or None

    def answer_again(self) -> None:
        for row in self.rows(self.project()):
            row.answers = self.answer()

    def photo(self) -> None:
        for row in self.rows(self.project()):
            row.avatar_id = self.random.choice((None, new_identifier()))

    def trash(self) -> None:
        project, status = self.project(), self.random.choice(STATUSES)
        query = select(models.Testimonial).where(models.Testimonial.status == status)
        apply_action(project, db.session.scalars(query).all(), "delete", WHO)

    def undo(self) -> None:
        undo_last(self.project(), WHO)

    def wait(self) -> None:
        """Let some wait for 14 days."""
        for row in self.rows(self.project()):
            row.is_overdue = row.status == "pending"

    def remove(self) -> None:
        rows = self.rows(self.project())[:5]
        self.removed = [
            (row.project_id, row.rating)
            for row in rows
            if is_genuine(row) and row.source == "public_page" and row.rating is not None
        ]
        if self.random.random() < 0.5:
            for row in rows:
                db.session.delete(row)
        else:
            ids = [row.id for row in rows]
            db.session.execute(delete(models.Testimonial).where(models.Testimonial.id.in_(ids)))


def require_right_answers(project_id: str, walk: Walk) -> None:
    project = db.session.get_one(Project, project_id)
    query = select(models.Testimonial).where(models.Testimonial.project_id == project_id)
    rows = list(db.session.scalars(query))
    kept = [row for row in rows if row.deleted_at is None]
    tabs = count_tabs(project_id)[project_id]
    assert tabs["trash"] == len(rows) - len(kept)
    assert tabs["all"] == sum(row.status != "spam" for row in kept)
    assert tabs["rejected"] == sum(row.status in ("rejected", "withdrawn") for row in kept)
    shown = [row for row in kept if row.status in ("approved", "demo")]
    figures = count_figures(project)
    assert figures["total"] == len(shown)
    assert figures["samples"] == sum(row.status == "demo" for row in shown)
    photos = [row for row in shown if row.avatar_url or (row.twitter or {}).get("avatarUrl")]
    assert figures["photos"] == len(photos)
    ratings = [row.rating for row in rows if row.rating and is_genuine(row)]
    ratings += [rating for of, rating in walk.kept if of == project_id]
    average = sum(ratings) / len(ratings) if ratings else 0
    assert rate(project)[1] == figures["count"] == len(ratings)
    assert abs(rate(project)[0] - average) <= 0.05 + 1e-9
    by_stars = [sum(int(rating + 0.5) == stars for rating in ratings) for stars in (5, 4, 3, 2, 1)]
    days = count_days(project_id, clock.EPOCH)
    in_days = [sum(day.stars[number] for day in days) for number in (4, 3, 2, 1, 0)]
    assert list(figures["stars"]) == in_days == by_stars
    of_tags = {name: sum(name in row.tags for row in kept) for row in kept for name in row.tags}
    assert {tag.name: tag.count for tag in list_project_tags(project_id)} == of_tags
    of_tags = {name: sum(name in row.tags for row in shown) for row in shown for name in row.tags}
    assert dict(figures["tags"]) == of_tags


@pytest.mark.postgres
@pytest.mark.parametrize("seed", range(rounds(2, 10)))
def test_counts_are_right_after_each_of_many_changes(app, owner, monkeypatch, seed):
    monkeypatch.setattr(history, "ROWS", 7)
    monkeypatch.setattr(transactions, "let_others_write", lambda: None)
    projects = [str(owner.create_project()["_id"]) for _ in range(2)]
    with app.app_context():
        walk = Walk(seed, projects)
        for _ in range(60):
            walk.step()
            assert find_wrong_counts(db.session.connection()) == []
        for project_id in projects:
            require_right_answers(project_id, walk)
        db.session.rollback()
        lock_for_writing()
        db.session.execute(delete(Project).where(Project.id == projects[0]))
        db.session.commit()
        for table in (models.TestimonialCount, models.TagCount, models.DayCount):
            assert set(db.session.scalars(select(table.project_id))) <= {projects[1]}
        assert find_wrong_counts(db.session.connection()) == []


@pytest.mark.postgres
def test_wrong_counts_are_found_and_mended(app, project_id):
    with app.app_context():
        walk = Walk(7, [project_id])
        lock_for_writing()
        walk.add_many()
        db.session.commit()
        right = count_tabs(project_id)
        lock_for_writing()
        number = models.TestimonialCount.number + 1
        db.session.execute(update(models.TestimonialCount).values(number=number))
        db.session.execute(delete(models.TagCount))
        db.session.execute(delete(models.DayCount))
        db.session.commit()
    runner = app.test_cli_runner()
    found = runner.invoke(args=["db", "check"])
    assert found.exit_code == 1
    for table in ("testimonial_count", "day_count", "tag_count"):
        said = f"of the counts in {table} are wrong; run: testimonials db check --repair"
        assert said in found.output
    assert runner.invoke(args=["db", "check", "--repair"]).exit_code == 0
    assert runner.invoke(args=["db", "check"]).exit_code == 0
    with app.app_context():
        assert count_tabs(project_id) == right


@pytest.mark.postgres
def test_many_statements_in_one_transaction_leave_few_rows(app, project_id):
    with app.app_context():
        lock_for_writing()
        walk = Walk(11, [project_id])
        for _ in range(150):
            values = walk.values(lock_project(project_id)) | {"rating": 5.0}
            db.session.add(models.Testimonial(**values))
            db.session.flush()
        db.session.commit()
        for table in (models.TestimonialCount, models.DayCount):
            rows = db.session.scalar(select(func.count()).select_from(table))
            assert rows is not None
            assert rows < 150
        before = count_tabs(project_id)
        lock_for_writing()
        recount(db.session.connection())
        db.session.commit()
        assert find_wrong_counts(db.session.connection()) == []
        assert count_tabs(project_id) == before


def test_readers_read_no_testimonials(app, project_id):
    with app.app_context():
        lock_for_writing()
        walk = Walk(5, [project_id])
        walk.add_many()
        db.session.commit()
        project = db.session.get_one(Project, project_id)
        readers: tuple[Callable[[], object], ...] = (
            lambda: count_tabs(project_id), lambda: count_figures(project), lambda: rate(project),
            lambda: list_project_tags(project_id), lambda: count_forms(project_id),
            lambda: count_answers(project, QUESTIONS), lambda: count_shown(project, EVERYTHING),
            lambda: count_shown(project, Content(min_rating=4)),
            lambda: count_days(project_id, clock.EPOCH),
        )  # fmt: skip
        for reader in readers:
            assert explain_statements(db.engine, reader, "testimonial ") == []
            for table in ("testimonial_count", "day_count"):
                for plan in explain_statements(db.engine, reader, table):
                    assert f"SEARCH {table} USING" in plan
                    assert "SCAN" not in plan.replace("SCAN anon_1", "")
        # Those that are named are looked for by their names.
        (plan, *_) = explain_statements(db.engine, lambda: find_rows(project_id, ["a", "b"]))
        assert plan.splitlines()[0].endswith("(id=?)")
        # The faces are looked for by indexes, however many there are.
        for plan in explain_statements(db.engine, lambda: describe_header(project), "testimonial "):
            assert "INDEX ix_testimonial_visible_" in plan
