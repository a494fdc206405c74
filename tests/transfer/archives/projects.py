"""A project with a value in every column, and what the database holds of it."""

import json
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from click.testing import Result
from flask import Flask
from sqlalchemy import select

from testimonials.collection.models import (
    MailedRequest,
    RequestBatch,
    UnsubscribedAddress,
    hash_email,
)
from testimonials.core import clock
from testimonials.core.data.identifiers import new_identifier
from testimonials.core.pictures.images import AVATAR, LOGO, Image
from testimonials.extensions import begin_write, db
from testimonials.projects.models import OldSlug, Project, WidgetSighting
from testimonials.projects.services import lock_project
from testimonials.testimonials import models
from tests.conftest import Caller
from tests.pictures import photo, read_image, to_bytes

MODELS: tuple[Any, ...] = (
    Project,
    OldSlug,
    WidgetSighting,
    models.Testimonial,
    models.TestimonialTag,
    models.TestimonialChange,
    RequestBatch,
    MailedRequest,
    Image,
)


def run(app: Flask, *arguments: str, typed: str | None = None) -> Result:
    """Run an admin command."""
    return app.test_cli_runner().invoke(args=list(arguments), input=typed)


def run_well(app: Flask, *arguments: str) -> str:
    """Run an admin command that must succeed; return what it printed."""
    result = run(app, *arguments)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def fill_project(app: Flask, owner: Caller, slug: str = "fern") -> str:
    """Make a project with every kind of row, and a value in each column of each; return its id."""
    project_id: str = owner.create_project(
        slug=slug, businessName="Fern & Fable", skipDemoTestimonials=False
    )["_id"]
    with app.app_context():
        begin_write()
        project = lock_project(project_id)
        account_id, now = project.account_id, clock.now()
        logo, avatar, former = (
            read_image(to_bytes(photo(90, 60), "PNG"), LOGO),
            read_image(to_bytes(photo(80, 80), "PNG"), AVATAR),
            read_image(to_bytes(photo(50, 40), "PNG"), AVATAR),
        )
        db.session.add_all([logo, avatar, former])
        db.session.flush()
        project.logo_id, project.status = logo.id, "inactive"
        project.widget_config = project.widget_config | {"theme": "dark", "layout": "carousel"}
        project.page_config = project.page_config | {"website": "https://fern.example/ü"}
        project.dashboard_config = {
            "hasLooked": True,
            "hasShared": True,
            "hidesChecklist": True,
            "keepsSamples": True,
            "shareMessage": "Write to us:\n{link}",
            "cta": {"label": "Write to us", "url": "https://fern.example/words"},
            "rated": {"kind": "Product", "name": "Fern"},
        }
        batch = RequestBatch(
            project_id=project_id,
            actor=owner.email,
            subject="A few words?",
            message="Hello {name}\nplease",
            language="de",
            remind_after_days=5,
            size=2,
        )
        db.session.add_all(
            [
                batch,
                OldSlug(slug=f"{slug}-before", project_id=project_id, renamed_at=now),
                WidgetSighting(project_id=project_id, origin="https://[::1]:8000", seen_at=now),
            ]
        )
        full = _make_full(project_id, avatar.id)
        others = [
            _make_row(project_id, number, status=status)
            for number, status in enumerate(("pending", "rejected", "spam", "withdrawn"), 1)
        ]
        db.session.add_all([full, *others])
        db.session.flush()
        full.tags = ["Ärger", "zeitig"]
        project.last_testimonial_at = others[-1].created_at
        change = models.TestimonialChange(
            testimonial_id=full.id,
            batch_id=new_identifier(),
            actor=owner.email,
            action="edit",
            before={
                "text": "Before\nthat",
                "rating": 2.5,
                "avatar_id": former.id,
                "tags": ["old"],
                "deleted_at": None,
                "reviewed_at": clock.to_milliseconds(now),
                "twitter": None,
                "is_pinned": False,
            },
        )
        mailed = MailedRequest(
            project_id=project_id,
            batch_id=batch.id,
            email="noor@example.com",
            email_hash=hash_email(account_id, "noor@example.com"),
            name="Noor",
            company="Kiln",
            next_mail_at=now + timedelta(days=4),
            sent_at=now,
            reminded_at=now,
            mail_id=new_identifier(),
            opened_at=now,
            answered_at=now,
            declined_at=now,
            testimonial_id=full.id,
        )
        unsubscribed = UnsubscribedAddress(
            account_id=account_id, email_hash=mailed.email_hash, created_at=now
        )
        db.session.add_all([change, mailed, unsubscribed])
        db.session.commit()
    return project_id


def _make_row(project_id: str, number: int, **values: Any) -> models.Testimonial:
    time = clock.now() + timedelta(milliseconds=100 + number)
    columns = {
        "status": "approved",
        "source": "public_page",
        "author_name": f"Person {number}",
        "text": f"Words of {number}",
        "submitted_at": time,
        "created_at": time,
        "updated_at": time,
    }
    return models.Testimonial(project_id=project_id, **columns | values)


def _make_full(project_id: str, avatar_id: str) -> models.Testimonial:
    time = clock.now() - timedelta(days=3)
    return _make_row(
        project_id,
        0,
        author_name="مريم العلي",
        author_email="maryam@example.com",
        author_role="Lead",
        author_company="Kiln & Clay",
        author_avatar="https://example.com/a.png",
        avatar_id=avatar_id,
        twitter={"id": "1", "handle": "maryam", "displayName": "M", "avatarUrl": ""},
        text="=1+1 <b>“Great”</b>, she said;\n\nand 🎉 meant it.",
        rating=4.5,
        is_pinned=True,
        submitted_at=time,
        reviewed_at=time,
        consent_text="Fern & Fable may show my words.",
        consent_language="ar",
        consented_at=time,
        submission_key="ab" * 32,
        import_key="cd" * 32,
        held_for="links,fast",
        text_fingerprint="ef" * 16,
        email_verified_at=time,
        consent_withdrawn_at=time,
        returned_at=time,
        original_text="Great, she said.",
        deleted_at=clock.now(),
    )


def read_rows(app: Flask, project_id: str) -> dict[str, list[dict[str, Any]]]:
    """Return every column of every row that belongs to a project, by table."""
    with app.app_context():
        found: dict[str, list[dict[str, Any]]] = {}
        for model in MODELS:
            rows = db.session.execute(select(*model.__table__.columns)).mappings()
            found[model.__tablename__] = sorted(map(dict, rows), key=repr)
        db.session.rollback()
        mine = {row["id"] for row in found["testimonial"] if row["project_id"] == project_id}
        images = {row["id"] for row in found["image"]}
        return {
            table: [
                row
                for row in rows
                if row.get("project_id", project_id) == project_id
                and row.get("testimonial_id", None) in {None, *mine}
                and (table != "project" or row["id"] == project_id)
                and (table != "image" or row["id"] in images)
            ]
            for table, rows in found.items()
        }


def change_json(path: Path, change: Callable[[dict[str, Any]], object], to: Path) -> Path:
    """Write an archive anew with its `project.json` changed."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "project.json":
                described = json.loads(content)
                change(described)
                content = json.dumps(described).encode()
            new.writestr(name, content)
    return to
