"""Answers to the owner's own questions, as they were given and as others may see them.

A testimonial keeps each with the question it answers, so that changing or deleting a question
leaves them as they are.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Text, cast, select

from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials.counts.services import count_answered, count_forms
from testimonials.testimonials.models import Testimonial

Answer = dict[str, Any]


def public_answers(testimonial: Testimonial, project: Project) -> list[Answer]:
    """Return the answers that everybody may see: asked for in public, and not private since."""
    return [each for each in testimonial.read_answers(project) if each["isPublic"]]


def write_answer(answer: Mapping[str, Any]) -> str:
    """Return an answer in words; nothing for a consent, which the question itself says."""
    value = answer["answer"]
    if value is True:
        return ""
    return ", ".join(value) if isinstance(value, list) else str(value)


def count_answers(project: Project, ids: Iterable[str]) -> dict[str, int]:
    """Return how many testimonials of the project answer each question, in the trash too."""
    wanted = list(ids)
    counts = count_answered(project.id) if wanted else {}
    return {each: counts.get(each, 0) for each in wanted}


def count_sent(project: Project) -> dict[str, int]:
    """Return how many testimonials came by each form, by its name, in the trash too."""
    return count_forms(project.id)


def find_kind(project: Project, question_id: str) -> str | None:
    """Return the kind that a question had when it was answered; None if nobody has."""
    if not count_answers(project, [question_id])[question_id]:
        return None
    query = select(Testimonial.answers).where(
        Testimonial.project_id == project.id,
        Testimonial.answers.is_not(None),
        _has_answer(question_id),
    )
    answers: Sequence[Answer] = db.session.scalars(query.limit(1)).first() or ()
    return next((each["kind"] for each in answers if each["id"] == question_id), None)


def note_privacy(project: Project, questions: Iterable[Mapping[str, Any]], gone: set[str]) -> None:
    """Remember which questions of the locked project are private now.

    Those that are `gone` stay as they were, since their answers are kept.
    """
    hidden = dict.fromkeys(project.private_questions)
    for question in questions:
        if question["isPublic"]:
            hidden.pop(question["id"], None)
        else:
            hidden[question["id"]] = None
    for each in gone & hidden.keys():
        if find_kind(project, each) is None:
            hidden.pop(each)
    if list(hidden) != project.private_questions:
        project.private_questions = list(hidden)


def _has_answer(question_id: str) -> ColumnElement[bool]:
    # Quotes inside of a text are escaped, so only the id itself looks like this.
    return cast(Testimonial.answers, Text).contains(f'"id": "{question_id}"', autoescape=True)
