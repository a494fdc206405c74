"""A project with a value in every column, and what the database holds of it."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flask import Flask
from sqlalchemy import select, update

from testimonials.collection.models import CollectionForm, MailedRequest, RequestBatch
from testimonials.collection.schemas import FormDesignSchema
from testimonials.core import clock
from testimonials.core.audit import IS_HISTORY, Event
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.extensions import db, lock_for_writing
from testimonials.core.images.uploads import Image
from testimonials.projects.defaults import WIDGET_CONFIG
from testimonials.projects.models import OldSlug, Project, WidgetSighting
from testimonials.projects.projects import lock_account
from testimonials.testimonials import models
from testimonials.transfer.archives.reading import open_archive
from testimonials.transfer.archives.restoring import restore_project
from testimonials.widget.models import SavedWidget
from tests.conftest import Caller

# Written by the first release: it must be taken by every later one. It has a value in each column
# that there was; `fill_project` adds those that came later.
VERSION_1 = Path(__file__).parent / "version_1.zip"
MODELS: tuple[Any, ...] = (
    Project, OldSlug, WidgetSighting, SavedWidget, models.Testimonial, models.TestimonialTag,
    models.KeptRating, Event, RequestBatch, MailedRequest, Image,
)  # fmt: skip


def fill_project(app: Flask, owner: Caller) -> str:
    """Give the owner the project of VERSION_1, which has every kind of row; return its id."""
    with app.app_context(), VERSION_1.open("rb") as file, open_archive(file) as archive:
        lock_for_writing()
        account = lock_account(owner.account_id)
        archive.lists["keptRatings"].append({"day": 20_000, "rating": 2.5, "number": 3})
        restored = restore_project(archive, account, {}, slug=None, resumes_requests=True)
        asked = {"purchase_reference": "order-8", "started_at": clock.now()}
        db.session.execute(update(MailedRequest).values(mail_id=new_identifier(), **asked))
        db.session.execute(update(RequestBatch).values(form_name="after-class"))
        db.session.execute(update(Event).where(IS_HISTORY).values(undone_at=clock.now()))
        project_id = restored.project.id
        first = _add_newer_values(restored.project)
        db.session.add(SavedWidget(project_id=project_id, name="home-page", **first))
        db.session.commit()
        return project_id


def _add_newer_values(project: Project) -> dict[str, Any]:
    """Set what is newer than VERSION_1; return the columns of a saved widget."""
    row = db.session.scalars(
        select(models.Testimonial).where(models.Testimonial.project_id == project.id)
    ).first()
    assert row is not None
    project.external_id, row.external_id = "shop-7", "review-12"
    row.highlights, row.reply, row.replied_at = [[0, 3]], "Thank you!", row.created_at
    row.form_name, row.purchase_reference = "after-class", "order-7"
    row.purchase_verified_at = row.created_at
    row.translated_from, row.set_aside = "nl", "off_topic"
    row.import_id, row.visit = new_identifier(), "2026-11-25.number"
    row.answers = [
        {
            "id": "howlikel", "question": "How likely?", "kind": "scale", "answer": 9,
            "isPublic": True,
        }
    ]  # fmt: skip
    project.dashboard_config = project.dashboard_config | {"madeWith": "shopify"}
    project.private_questions = ["howlikel"]
    question = {"id": "takehome", "kind": "choice", "text": "What?", "choices": ["Bread", "Buns"]}
    design = FormDesignSchema().load({"questions": [question], "tag": "class"})
    form = {"name": "after-class", "title": "After class", "design": design}
    db.session.add(CollectionForm(project_id=project.id, **form))
    project.cover_id = project.portrait_id = project.brand_logo_id = project.logo_id
    project.brand = {"color": "#0F766E", "font": "classic", "read": {"trade": "salon"}}
    project.brand["read"]["madeWith"] = "wix"
    project.purchase_secret = project.old_purchase_secret = "secret"
    project.old_purchase_secret_until = row.created_at
    project.own_host = "reviews.example.com"
    project.page_design = {"language": "nl", "signature": "Mira, who bakes it"}
    design = {"brandColor": "#C2410C", "labels": {"showMore": "More"}, "chosen": [row.id]}
    draft = {"config": {"theme": "dark"}, "design": {"chosen": [row.id]}, "cta": {"label": "Go"}}
    project.widget_design, project.widget_draft = design, draft
    return {"config": dict(WIDGET_CONFIG), "design": design, "draft": draft}


def read_rows(app: Flask, project_id: str) -> dict[str, list[dict[str, Any]]]:
    with app.app_context():
        found: dict[str, list[dict[str, Any]]] = {}
        for model in MODELS:
            query = select(*model.__table__.columns)
            # Who else was told of what is the account's.
            query = query.where(IS_HISTORY) if model is Event else query
            rows = db.session.execute(query).mappings()
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
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "project.json":
                described = json.loads(content)
                change(described)
                content = json.dumps(described).encode()
            new.writestr(name, content)
    return to
