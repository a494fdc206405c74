"""Share pictures of pages and testimonials, drawn on request and then stored."""

import base64
import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from flask import Response, request
from sqlalchemy import delete, select

from testimonials.collection.images.cards import STYLE, draw_card
from testimonials.collection.images.draw import LOOKS
from testimonials.collection.models import SharePicture, TestimonialPicture
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, limiter
from testimonials.core.http.errors import NotFound, ServiceError
from testimonials.core.http.i18n import gettext_noop, speaking
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.urls import share_picture_url
from testimonials.core.images.colors import derive_colors, draw_face, initials_of
from testimonials.core.images.uploads import RETRY_AFTER, Image, ImageBusy
from testimonials.core.images.worker import DecoderBusy, LimitsExceeded, decoder
from testimonials.projects.brand import brand_logo_id, page_color, page_logo_id
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
    remedy = "Do without it; `message` says why."


def run_drawing(shown: Mapping[str, Any]) -> bytes:
    """Return the PNG for a description. Raises `PictureRefused` and `ImageBusy`."""
    # Don't hold a database connection while waiting.
    db.session.close()
    try:
        result, content = decoder.run(draw_card, io.BytesIO(json.dumps(shown).encode()))
    except LimitsExceeded:
        raise PictureRefused(gettext_noop("This picture takes too long to draw.")) from None
    except DecoderBusy:
        message = gettext_noop(
            "The server is busy with other pictures. Try again in a few seconds."
        )
        raise ImageBusy(message, headers={"Retry-After": str(RETRY_AFTER)}) from None
    if letters := result.get("letters"):
        raise PictureRefused(
            gettext_noop(
                "This server has no font for some of the letters: %(letters)s. Its operator can "
                "install one, such as Debian’s fonts-noto-core."
            ),
            values={"letters": letters},
        )
    return content


# How many of a project's newest pictures are stored: some 20 MB.
MOST_KEPT = 200
# Drawing one takes a tenth of a second. The first limit is for strangers.
DRAWINGS = Limit("testimonial-picture", 300, "for pictures of one project", for_load=True)
OWN_DRAWINGS = Limit("own-picture", 600, "for pictures of one project", for_load=True)


@dataclass(frozen=True)
class Picture:
    """The description of a picture, with the ids of photo and logo instead of their bytes.

    A page has no `testimonial_id`.
    """

    project_id: str
    testimonial_id: str
    look: str
    size: str
    shown: dict[str, Any]

    @property
    def fingerprint(self) -> str:
        drawn = json.dumps([STYLE, self.look, self.size, self.shown], sort_keys=True)
        return hashlib.sha256(drawn.encode()).hexdigest()[:32]


def describe_picture(
    project: Project, row: Testimonial, look: str = LOOKS[0], size: str = "landscape"
) -> Picture:
    """Describe a testimonial's picture. Raises `NotFound` unless the testimonial is public."""
    if not row.is_visible:
        raise NotFound("Only approved testimonials have a picture.")
    settings = find_settings(project)
    colors = read_colors(settings.config, settings.design)
    with speaking(project.whole_page_design["language"]):
        words = write_words({}, name=project.name)
        sample = words["sample"] if row.status == "demo" else ""
        marks = [words[mark] for mark in find_marks([row])[row.id]]
        # The line says that one testimonial is a selection.
        picked = describe_proof(project, int(row.status != "demo")).get("text", "")
    initials, person = draw_face(row.author_name)
    shown = {
        "text": row.text,
        "highlights": row.highlights or [],
        "rating": row.rating,
        "name": row.author_name,
        "role": ", ".join(filter(None, [sample, row.author_role, row.author_company])),
        "marks": " · ".join(marks),
        "initials": initials,
        "person": person,
        "photo": row.avatar_id,
        "business": picked or project.name,
        "picked": bool(picked),
        "letter": initials_of(project.name)[:1],
        "logo": brand_logo_id(project),
        "light": colors.light,
        "dark": colors.dark,
    }
    return Picture(project.id, row.id, look, size, shown)


def fetch_picture(picture: Picture, limit: Limit = OWN_DRAWINGS) -> bytes:
    """Return the stored picture, redrawn if it is out of date.

    Raises `RateLimited`, `PictureRefused` and `ImageBusy`.
    """
    row = db.session.get(TestimonialPicture, (picture.testimonial_id, picture.look, picture.size))
    if row is not None and row.fingerprint == picture.fingerprint:
        return row.content
    if not picture.shown["text"]:
        raise PictureRefused(
            gettext_noop("There is no text to draw. Add a transcript of the recording.")
        )
    limiter.count(limit, picture.project_id)
    content = _draw(picture)
    with write():
        _store(picture, content)
    return content


def _draw(picture: Picture) -> bytes:
    photo, logo = (_load(picture.shown[name]) for name in ("photo", "logo"))
    shown = picture.shown | {"look": picture.look, "size": picture.size}
    shown["photo"] = base64.b64encode(photo.content).decode() if photo else None
    if logo:
        content = base64.b64encode(logo.content).decode()
        shown["logo"] = {"content": content, "width": logo.width, "height": logo.height}
        # A wide logo contains the name already.
        if logo.width > 2 * logo.height and not shown["picked"]:
            shown["business"] = ""
    return run_drawing(shown)


def _store(picture: Picture, content: bytes) -> None:
    """Store a picture if its testimonial still exists; delete all but the project's newest."""
    if db.session.get(Testimonial, picture.testimonial_id) is None:
        return
    db.session.merge(
        TestimonialPicture(
            testimonial_id=picture.testimonial_id,
            look=picture.look,
            size=picture.size,
            project_id=picture.project_id,
            fingerprint=picture.fingerprint,
            content=content,
        )
    )
    db.session.flush()
    row = TestimonialPicture
    is_own = row.project_id == picture.project_id
    newest = select(row.created_at).where(is_own).order_by(row.created_at.desc())
    if (end := db.session.scalar(newest.offset(MOST_KEPT).limit(1))) is not None:
        db.session.execute(delete(row).where(is_own, row.created_at <= end))


def send_picture(fingerprint: str, content: bytes, max_age: int = 0) -> Response:
    """Return a picture that caches may keep for `max_age` seconds; if 0, only browsers may."""
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


# The picture of a collection page: its headline above five stars and the brand.


def describe_page_picture(project: Project) -> Picture:
    config, colors = project.page_config, derive_colors(page_color(project))
    shown: dict[str, Any] = {
        "text": config["headline"] or project.name,
        "highlights": [],
        "rating": 5,
        **dict.fromkeys(("name", "role", "marks", "initials"), ""),
        "person": 0,
        "photo": None,
        "business": project.name,
        "picked": False,
        "letter": initials_of(project.name)[:1],
        "logo": page_logo_id(project),
        "light": colors.light,
        "dark": colors.dark,
    }
    look = "night" if config["theme"] == "dark" else LOOKS[0]
    return Picture(project.id, "", look, "landscape", shown)


def versioned_picture_url(project: Project) -> str:
    version = describe_page_picture(project).fingerprint[:8]
    return f"{share_picture_url(project.slug, project.own_host)}?v={version}"


def fetch_share_picture(picture: Picture) -> bytes:
    """Return a page's stored picture, redrawn if it is out of date. Raises `ImageBusy`.

    All words are left out if some of their letters are in no font.
    """
    row = db.session.get(SharePicture, picture.project_id)
    if row is not None and row.fingerprint == picture.fingerprint:
        return row.content
    try:
        content = _draw(picture)
    except PictureRefused:
        words = dict.fromkeys(("text", "business", "letter"), "")
        content = _draw(replace(picture, shown=picture.shown | words))
    with write(partial(lock_project, picture.project_id)) as project:
        row = SharePicture(project_id=project.id, fingerprint=picture.fingerprint, content=content)
        db.session.merge(row)
    return content
