"""The picture that a shared link to a collection page shows: drawn when it changes, then kept."""

import base64
import hashlib
import json
from dataclasses import asdict

from testimonials.collection.models import SharePicture
from testimonials.collection.picture.drawing import STYLE, Shown, draw_share_picture
from testimonials.collection.picture.running import run_drawing
from testimonials.core.pictures.images import Image
from testimonials.core.urls import share_picture_url
from testimonials.extensions import db
from testimonials.projects.models import Project


def picture_fingerprint(project: Project) -> str:
    """Return a hash of everything that is drawn."""
    config = project.page_config
    drawn = [STYLE, project.name, config["headline"], config["theme"], config["buttonColor"]]
    drawn += [config["buttonTextColor"], project.logo_id]
    return hashlib.sha256(json.dumps(drawn).encode()).hexdigest()[:32]


def versioned_picture_url(project: Project) -> str:
    """Return the picture's URL, which changes with the picture."""
    version = picture_fingerprint(project)[:8]
    return f"{share_picture_url(project.slug, project.own_host)}?v={version}"


def find_share_picture(project: Project) -> bytes | None:
    """Return the stored picture, unless it is out of date."""
    row = db.session.get(SharePicture, project.id)
    if row is None or row.fingerprint != picture_fingerprint(project):
        return None
    return row.content


def make_share_picture(project: Project) -> bytes:
    """Draw the picture; raises `ImageBusy`."""
    config = project.page_config
    logo = db.session.get(Image, project.logo_id) if project.logo_id else None
    shown = Shown(
        name=project.name,
        headline=config["headline"],
        theme=config["theme"],
        button=config["buttonColor"],
        button_text=config["buttonTextColor"],
        logo=base64.b64encode(logo.content).decode() if logo else None,
    )
    return run_drawing(draw_share_picture, asdict(shown))


def keep_share_picture(project: Project, content: bytes, fingerprint: str) -> None:
    db.session.merge(SharePicture(project_id=project.id, fingerprint=fingerprint, content=content))
