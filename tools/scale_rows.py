"""The million testimonials of `scripts/bench scale`, added by the product's own tables."""

import random
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import insert, update

from testimonials.core.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial, TestimonialTag

BATCH = 5_000
# This many of a project's testimonials, the oldest, have a form and a tag that no others have.
OLDEST = 5
# A word of one testimonial in ten thousand and of a project's oldest ones, and a word of them all.
RARE, COMMON = "marmalade", "afternoon"
NAMES = ("Maya", "Tom", "Lucía", "Aiko", "Noah", "Sofia", "Mateusz", "Chioma", "Élise", "Jonas")
FAMILIES = ("Kowalski", "Okafor", "Fernández", "Tanaka", "Smith", "Rossi", "Nowak", "Moreau")
ROLES = ("Owner", "Operations lead", "Teacher", "Baker", "Head of sales", "")
COMPANIES = ("Kiln & Clay Studio", "Northgate Cycles", "Escuela del Puerto", "Fern & Fable", None)
TAGS = ("support", "speed", "price", "design", "team", "pricing", "onboarding", "shop")
TEXT = (
    "we switched on a Tuesday and by Friday every one of us had stopped asking where things are "
    "the team answered within minutes our orders arrive on time nobody misses the old way it took "
    "quiet care to move and customers noticed before we said anything about price or design"
)
WORDS = TEXT.split()
# Out of a hundred: each status, and each rating.
STATUSES = ("approved",) * 80 + ("pending",) * 12 + ("rejected",) * 6 + ("spam",) * 2
RATINGS = (
    (5.0,) * 60 + (4.0,) * 22 + (4.5,) * 5 + (3.0,) * 4 + (2.0,) * 2 + (1.0,) * 2 + (None,) * 5
)
ANSWER = {"id": "why", "question": "Why?", "kind": "text", "answer": "It works.", "isPublic": True}
EPOCH = datetime(2020, 1, 1, tzinfo=UTC)


def add_testimonials(sizes: Mapping[str, int]) -> None:
    """Add this many testimonials to each project, `BATCH` of them in a transaction."""
    chance = random.Random(16)
    serial = 0
    for project, size in sizes.items():
        for first in range(serial, serial + size, BATCH):
            numbers = range(first, min(first + BATCH, serial + size))
            rows = [_make(project, number, number - serial, chance) for number in numbers]
            db.session.execute(insert(Testimonial), rows)
            if tags := list(_tag(rows, chance)):
                db.session.execute(insert(TestimonialTag), tags)
            db.session.commit()
        serial += size
        newest = EPOCH + timedelta(minutes=serial)
        db.session.execute(
            update(Project).where(Project.id == project).values(last_testimonial_at=newest)
        )
        db.session.commit()


def _make(project: str, number: int, place: int, chance: random.Random) -> dict[str, Any]:
    status = chance.choice(STATUSES)
    time = EPOCH + timedelta(minutes=number)
    name = f"{chance.choice(NAMES)} {chance.choice(FAMILIES)}"
    words = chance.choices(WORDS, k=chance.randint(8, 60))
    words.insert(chance.randrange(len(words)), COMMON)
    is_old, is_fair = place < OLDEST, chance.random() < 0.05
    if number % 10_000 == 0 or is_old:
        words.append(RARE)
    return {
        "id": f"{number:024x}",
        "project_id": project,
        "status": status,
        "source": chance.choice(("public_page", "public_page", "import", "manual")),
        "author_name": name,
        "author_email": f"{name.split()[0].lower()}{number}@example.com",
        "author_role": chance.choice(ROLES),
        "author_company": chance.choice(COMPANIES),
        "text": " ".join(words).capitalize() + ".",
        "form_name": "market" if is_old else "fair" if is_fair else None,
        "answers": [ANSWER] if chance.random() < 0.1 else None,
        "rating": chance.choice(RATINGS),
        "is_pinned": chance.random() < 0.0001,
        "submitted_at": time,
        "reviewed_at": None if status == "pending" else time,
        "deleted_at": time if chance.random() < 0.01 else None,
        "created_at": time,
        "updated_at": time,
    }


def _tag(rows: list[dict[str, Any]], chance: random.Random) -> Iterator[dict[str, Any]]:
    """Yield the tags of the rows: one in three has some."""
    for row in rows:
        names = chance.sample(TAGS, chance.choice((0, 0, 0, 0, 1, 2)))
        for name in names + [RARE] * (row["form_name"] == "market"):
            yield {"testimonial_id": row["id"], "project_id": row["project_id"], "name": name}
