"""Share pictures and pictures of testimonials: drawn when asked for, then kept."""

import base64
import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from flask import Response, request
from sqlalchemy import delete, select

from testimonials.collection.images.cards import (
    STYLE,
    TESTIMONIAL_STYLE,
    draw_share_picture,
    draw_testimonial,
)
from testimonials.collection.images.draw import LOOKS
from testimonials.collection.models import SharePicture, TestimonialPicture
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, limiter
from testimonials.core.http.errors import NotFound, ServiceError
from testimonials.core.http.i18n import gettext_noop, speaking
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.urls import share_picture_url
from testimonials.core.images.colors import TEXTS, draw_face, initials_of
from testimonials.core.images.uploads import RETRY_AFTER, Image, ImageBusy
from testimonials.core.images.worker import DecoderBusy, LimitsExceeded, Work, decoder
from testimonials.projects.brand import brand_logo_id, find_button, page_logo_id
from testimonials.projects.models import Project
from testimonials.projects.projects import lock_project
from testimonials.projects.widget_design import read_colors
from testimonials.testimonials.models import Testimonial
from testimonials.widget.selection import find_marks
from testimonials.widget.settings import describe_proof, find_settings
from testimonials.widget.words import write_words


class PictureRefused(ServiceError):
    status = 422
    meaning = "The picture can't be drawn."
    remedy = "Do without: `message` says why."


def run_drawing(work: Work, shown: Mapping[str, Any]) -> bytes:
    """Return the PNG that `work` draws; raises `PictureRefused` and `ImageBusy`."""
    # Don't hold a database connection while waiting for a turn.
    db.session.close()
    try:
        found, content = decoder.run(work, io.BytesIO(json.dumps(shown).encode()))
    except LimitsExceeded:
        raise PictureRefused(gettext_noop("This picture takes too long to draw.")) from None
    except DecoderBusy:
        message = gettext_noop(
            "Many pictures are being drawn right now. Try again in a few seconds."
        )
        raise ImageBusy(message, headers={"Retry-After": str(RETRY_AFTER)}) from None
    if letters := found.get("letters"):
        raise PictureRefused(
            gettext_noop(
                "This server has no font for some of the letters: %(letters)s. Its operator can "
                "install one, such as Debian’s fonts-noto-core."
            ),
            values={"letters": letters},
        )
    return content


# The picture that a shared link to a collection page shows: drawn when it changes, then kept.


def picture_fingerprint(project: Project) -> str:
    """Return a hash of everything that is drawn."""
    config = project.page_config
    colors = _choose_button(project)
    drawn = [STYLE, project.name, config["headline"], config["theme"], *colors]
    drawn += [page_logo_id(project)]
    return hashlib.sha256(json.dumps(drawn).encode()).hexdigest()[:32]


def versioned_picture_url(project: Project) -> str:
    version = picture_fingerprint(project)[:8]
    return f"{share_picture_url(project.slug, project.own_host)}?v={version}"


def fetch_share_picture(project: Project, fingerprint: str) -> bytes:
    """Return the stored picture, or if it is out of date draw and store it; raises `ImageBusy`."""
    row = db.session.get(SharePicture, project.id)
    if row is not None and row.fingerprint == fingerprint:
        return row.content
    config, logo = project.page_config, _load(page_logo_id(project))
    button, text = _choose_button(project)
    shown = {
        "name": project.name,
        "headline": config["headline"],
        "theme": config["theme"],
        "button": button,
        "button_text": text,
        "logo": base64.b64encode(logo.content).decode() if logo else None,
    }
    content = run_drawing(draw_share_picture, shown)
    with write(partial(lock_project, project.id)) as project:
        kept = {"fingerprint": fingerprint, "content": content}
        db.session.merge(SharePicture(project_id=project.id, **kept))
    return content


def _choose_button(project: Project) -> tuple[str, str]:
    config = project.page_config
    if config["buttonColor"]:
        return config["buttonColor"], config["buttonTextColor"] or TEXTS[0]
    button = find_button(project)
    return button.dark if config["theme"] == "dark" else button.light


# Pictures of testimonials: drawn when somebody asks, then kept until something in them changes.

# What a link to a testimonial shows.
LINK_LOOK, LINK_SIZE = LOOKS[0], "landscape"
# A project's newest are kept: some 20 MB.
MOST_KEPT = 200
# Each takes a tenth of a second. For strangers and for owners.
DRAWINGS = Limit("testimonial-picture", 300, "for pictures of one project", for_load=True)
OWN_DRAWINGS = Limit("own-picture", 600, "for pictures of one project", for_load=True)
# A logo wider than this says the name itself.
WIDE_LOGO = 2


@dataclass(frozen=True)
class Wanted:
    """A picture: all that is drawn, with the ids of photo and logo in place of their bytes."""

    project_id: str
    testimonial_id: str
    look: str
    size: str
    shown: dict[str, Any]

    @property
    def fingerprint(self) -> str:
        drawn = json.dumps([TESTIMONIAL_STYLE, self.look, self.size, self.shown], sort_keys=True)
        return hashlib.sha256(drawn.encode()).hexdigest()[:32]


def describe_picture(
    project: Project, row: Testimonial, look: str = LINK_LOOK, size: str = LINK_SIZE
) -> Wanted:
    """Say what a picture of a testimonial shows; raise `NotFound` unless it is public."""
    if not row.is_visible:
        raise NotFound("There are pictures of approved testimonials only.")
    settings = find_settings(project)
    colours = read_colors(settings.config, settings.design)
    with speaking(project.whole_page_design["language"]):
        words = write_words({}, name=project.name)
        told = words["sample"] if row.status == "demo" else ""
        marks = [words[mark] for mark in find_marks([row])[row.id]]
        # One of several is one that was picked.
        picked = describe_proof(project, int(row.status != "demo")).get("text", "")
    initials, person = draw_face(row.author_name)
    shown = {
        "text": row.text,
        "highlights": row.highlights or [],
        "rating": row.rating,
        "name": row.author_name,
        "role": ", ".join(filter(None, [told, row.author_role, row.author_company])),
        "marks": " · ".join(marks),
        "initials": initials,
        "person": person,
        "photo": row.avatar_id,
        "business": picked or project.name,
        "picked": bool(picked),
        "letter": initials_of(project.name)[:1],
        "logo": brand_logo_id(project),
        "light": colours.light,
        "dark": colours.dark,
    }
    return Wanted(project.id, row.id, look, size, shown)


def fetch_picture(wanted: Wanted, limit: Limit = OWN_DRAWINGS) -> bytes:
    """Return the stored picture, or if it is out of date draw and store it.

    Raises `RateLimited`, `PictureRefused` and `ImageBusy`.
    """
    row = db.session.get(TestimonialPicture, (wanted.testimonial_id, wanted.look, wanted.size))
    if row is not None and row.fingerprint == wanted.fingerprint:
        return row.content
    limiter.count(limit, wanted.project_id)
    content = _draw(wanted)
    with write():
        _keep(wanted, content)
    return content


def _draw(wanted: Wanted) -> bytes:
    if not wanted.shown["text"]:
        raise PictureRefused(
            gettext_noop("There are no words to draw. Add the transcript of the recording.")
        )
    photo, logo = (_load(wanted.shown[name]) for name in ("photo", "logo"))
    shown = wanted.shown | {"look": wanted.look, "size": wanted.size, "photo": None, "logo": None}
    if photo:
        shown["photo"] = base64.b64encode(photo.content).decode()
    if logo:
        content = base64.b64encode(logo.content).decode()
        shown["logo"] = {"content": content, "width": logo.width, "height": logo.height}
        is_named = logo.width > WIDE_LOGO * logo.height and not shown["picked"]
        shown["business"] *= not is_named
    return run_drawing(draw_testimonial, shown)


def _keep(wanted: Wanted, content: bytes) -> None:
    """Store a picture if its testimonial is still there; only the project's newest stay."""
    if db.session.get(Testimonial, wanted.testimonial_id) is None:
        return
    db.session.merge(
        TestimonialPicture(
            testimonial_id=wanted.testimonial_id,
            look=wanted.look,
            size=wanted.size,
            project_id=wanted.project_id,
            fingerprint=wanted.fingerprint,
            content=content,
        )
    )
    db.session.flush()
    mine = TestimonialPicture.project_id == wanted.project_id
    newest = TestimonialPicture.created_at.desc()
    oldest = select(TestimonialPicture.created_at).where(mine).order_by(newest).offset(MOST_KEPT)
    if (end := db.session.scalar(oldest.limit(1))) is not None:
        db.session.execute(
            delete(TestimonialPicture).where(mine, TestimonialPicture.created_at <= end)
        )


def send_picture(fingerprint: str, content: bytes, max_age: int = 0) -> Response:
    """Answer with a picture; whoever may cache it asks again after `max_age` seconds."""
    response = Response(content, mimetype="image/png")
    response.set_etag(fingerprint)
    shared = f"public, max-age={max_age}"
    response.headers["Cache-Control"] = shared if max_age else "private, no-cache"
    if max_age:
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.make_conditional(request)
    return response


def _load(image_id: str | None) -> Image | None:
    return db.session.get(Image, image_id) if image_id else None
