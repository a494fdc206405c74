"""Template contexts of the collection page, for the page editor's preview too."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from flask import url_for
from sqlalchemy import select

from testimonials.collection import submission
from testimonials.collection.context import INVITATION, Context
from testimonials.collection.forms import (
    ANSWER_LENGTH,
    read_form_design,
    show_question,
    speak_lines,
)
from testimonials.collection.images.pictures import versioned_picture_url
from testimonials.collection.models import CollectionForm
from testimonials.collection.verified_purchases import is_used
from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.http.i18n import PARAMETER, asked_language, current_language, translate
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.urls import form_url, image_url
from testimonials.core.images.uploads import AVATAR, Image
from testimonials.core.settings.table import current_settings
from testimonials.projects.brand import page_logo_id
from testimonials.projects.defaults import HEADLINE, PAGE_CONFIG, default_page_config
from testimonials.projects.models import Project
from testimonials.projects.projects import name_owner
from testimonials.testimonials.fields import LINE_LENGTH, TEXT_LENGTH, Answer
from testimonials.testimonials.models import Testimonial
from testimonials.widget.render import Still, make_still
from testimonials.widget.selection import write_answers
from testimonials.widget.settings import describe_shown, find_settings
from testimonials.widget.words import write_dates

# A logo wider than this ratio contains the name.
WIDE = 2
# List separators other than a comma and a space.
SEPARATORS = {"ar": "، ", "ja": "、"}

Step = dict[str, Any]


def describe_form(context: Context, sent: submission.Submission) -> dict[str, Any]:
    """Return the context for `collection/page.html`; the photo has been stored."""
    project, links = context.project, dict(context.links)
    name = context.form.name if context.form else None
    page = describe_with_owner(project, context.form)
    shown, collect = page["shown"], project.page_config["collectFields"]
    photo = image_url(sent.photo.id if sent.photo else None)
    gift = next((step for step in shown["steps"] if step["kind"] == "code"), None)
    record = _describe_recorder(context, shown["prompts"], sent.recording)
    consents = ("written", "video", "voice", "any") if record else ("written",)
    invitation = links.pop(INVITATION, "")
    return page | {
        "collect": collect,
        "details": _name_details(collect),
        "values": sent.typed,
        "answers": sent.answered,
        "hidden": links,
        "request_token": invitation if context.asked else "",
        "is_verified": bool(context.order) and not is_used(project, context.order),
        "errors": sent.errors,
        "targets": find_targets(shown["questions"]),
        "form_token": sent.token,
        # What a link filled in is visible at once.
        "is_open": bool(sent.errors or any(sent.typed.values()) or not collect.get("rating")),
        "is_multipart": bool(collect.get("avatar") or record),
        "draft_name": draft_name(project, name),
        "action": url_for("collection.submit_testimonial", slug=project.slug, form_name=name),
        "seen_url": url_for("analytics.note_seen", project_id=project.id),
        "form_name": name or "",
        "limits": {"text": TEXT_LENGTH, "name": LINE_LENGTH, "answer": ANSWER_LENGTH},
        "asks_insider": project.whole_page_design["asksInsider"],
        "consents": {kind: submission.consent_sentence(project, kind) for kind in consents},
        "prompts": shown["prompts"],
        "questions": shown["questions"],
        "record": record,
        "gift": gift,
        "still": preview_card(project, sent.typed, photo, sent.values.get("answers"), gift),
        "card_css_url": url_for("collection.get_card_styles", slug=project.slug),
        "photo": {"token": submission.make_kept_token(context, sent.photo), "url": photo},
        "max_photo_bytes": AVATAR.max_bytes,
    }


def _describe_recorder(
    context: Context, prompts: list[str], kept: submission.SentRecording | None
) -> dict[str, Any] | None:
    """Return the context for `collection/_record.html`; None if the page takes no recordings."""
    if not context.kinds:
        return None
    slug, settings = context.project.slug, current_settings()
    language: dict[str, Any] = {PARAMETER: current_language().code}
    return {
        "kinds": context.kinds,
        "seconds": settings.recording_seconds,
        "megabytes": settings.recording_megabytes,
        "url": url_for("media.begin_upload", slug=slug),
        "recorder_url": url_for("collection.get_recorder", slug=slug, **language),
        "prompts": prompts,
        "kept": kept.id if kept else "",
    }


def describe_thanks(
    project: Project, row: Testimonial | None = None, *, has_steps: bool = False
) -> dict[str, Any]:
    """Return the context for `collection/thanks.html`, for the author of `row` if there is one.

    Without a `row` it has no steps, unless `has_steps`.
    """
    config = project.page_config
    page = describe_with_owner(project)
    is_waiting = row is not None and row.status in ("pending", "spam")
    is_approved = row is not None and row.status == "approved"
    return page | {
        "row": row,
        "first_name": _first_name(row.author_name) if row else "",
        "still": show_card(project, row) if row and (is_waiting or is_approved) else None,
        "is_waiting": is_waiting,
        "card_css_url": url_for("collection.get_card_styles", slug=project.slug),
        "steps": describe_steps(page["shown"]["steps"]) if row or has_steps else [],
        "message": speak(config["thankYouMessage"], PAGE_CONFIG["thankYouMessage"]),
        "website": config["website"],
        "show_confetti": config["showConfetti"],
        "has_mail": bool(current_settings().smtp_url),
        "draft_name": draft_name(project, row.form_name if row else None),
    }


def describe_page(project: Project, form: CollectionForm | None = None) -> dict[str, Any]:
    website: str = project.page_config["website"]
    shown = shown_design(project, form)
    url = form_url(project.slug, form.name if form else None, project.own_host)
    page = {
        "name": project.name,
        # Such as "Mira", if the signature is "Mira, who bakes it".
        "owner": re.split("[,،、]", shown["signature"].strip(" ,،、"))[0].strip() or project.name,
        "slug": project.slug,
        **{name: shown[name] for name in ("headline", "description", "signature")},
        "website": website,
        "website_label": website.partition("://")[2].rstrip("/"),
        **_find_pictures(project),
        "share_url": versioned_picture_url(project),
        "theme": project.page_config["theme"],
        "canonical": url,
    }
    # Each language has its own URL; the plain one is served in the visitor's language.
    language = asked_language()
    return {
        "project": page,
        "shown": shown,
        "canonical": f"{url}?{PARAMETER}={language.code}" if language else url,
        "theme_css_url": url_for("collection.get_theme", slug=project.slug),
    }


def describe_with_owner(project: Project, form: CollectionForm | None = None) -> dict[str, Any]:
    """Return `describe_page`, with the owner's first name if there is no signature."""
    page = describe_page(project, form)
    if not page["shown"]["signature"]:
        page["project"]["owner"] = name_owner(project)
    return page


def draft_name(project: Project, form_name: str | None) -> str:
    """Return the key under which a browser stores a form's draft."""
    return f"{project.slug}/f/{form_name}" if form_name else project.slug


def _find_pictures(project: Project) -> dict[str, Any]:
    """Return the URLs and sizes of the logo, the cover and the owner's portrait."""
    logo, cover, portrait = page_logo_id(project), project.cover_id, project.portrait_id
    ids = [image_id for image_id in (logo, cover, portrait) if image_id]
    query = select(Image.id, Image.width, Image.height).where(Image.id.in_(ids))
    found: dict[str | None, Any] = {}
    for id, width, height in db.session.execute(query) if ids else ():
        size = {"width": width, "height": height, "is_wide": width > WIDE * height}
        found[id] = {"url": image_url(id), **size}
    return {"logo": found.get(logo), "cover": found.get(cover), "portrait": found.get(portrait)}


def _first_name(name: str) -> str:
    """Return "Theo" for "Theo Brandt", but the whole name for "Dr. Brandt" or a single word."""
    first, *others = name.split()
    return first if others and not first.endswith(".") else name


def _name_details(collect: dict[str, bool]) -> str:
    """Return the labels of the optional fields, such as "Photo, role, company"."""
    names = {"avatar": _("Photo"), "role": _("Role"), "company": _("Company"), "email": _("Email")}
    asked = [name for field, name in names.items() if collect.get(field)]
    code = current_language().code
    # In German every noun is capitalized.
    others = asked[1:] if code == "de" else [name.lower() for name in asked[1:]]
    return SEPARATORS.get(code, ", ").join([*asked[:1], *others])


def find_targets(questions: list[dict[str, Any]]) -> dict[str, str]:
    """Return the ids of the controls to which the summary of errors links, by field."""
    firsts = {"scale": "-0", "choice": "-1"}
    own = {f"q_{each['id']}": f"q_{each['id']}{firsts.get(each['kind'], '')}" for each in questions}
    fields = ("text", "name", "email", "role", "company", "photo", "consent")
    others = {"rating": "rating-1", "recording": "recording_file"}
    return others | {name: name for name in fields} | own


# The finished card on the form and the thank-you page looks as it does in
# the project's widget.


def show_card(project: Project, row: Testimonial) -> Still:
    return _make(project, describe_shown(project, [row])[0])


def preview_card(
    project: Project,
    typed: Mapping[str, str],
    photo: str | None,
    answers: Sequence[Answer] | None,
    gift: Step | None,
) -> Still:
    """Return the card for what was typed, with all parts that the page's script may fill in."""
    rating = typed.get("rating") or "5"
    item: dict[str, Any] = {
        "id": "",
        "authorName": typed.get("name") or _("Your name"),
        "authorRole": typed.get("role", ""),
        "authorCompany": typed.get("company"),
        "authorAvatar": photo,
        "text": typed.get("text") or _("Your words"),
        "rating": int(rating) if rating in "12345" else 5,
        "submittedAt": clock.iso(clock.now()),
    }
    item["extras"] = {
        "answers": write_answers(each for each in answers or () if each["isPublic"]),
        "marks": ["rewarded"] if gift else [],
    }
    return _make(project, item)


def _make(project: Project, item: dict[str, Any]) -> Still:
    settings = find_settings(project)
    return make_still(project, settings, [item], kind="single", is_player=True)


def shown_design(project: Project, form: CollectionForm | None = None) -> dict[str, Any]:
    """Return what the page shows of its design, and of a form's, translated.

    `steps` are those still offered.
    """
    page = project.whole_page_design
    own = read_form_design(form) if form else page
    usual, words = _words(page["translations"]), _words(own["translations"])
    shown = {
        "headline": usual.get("headline") or _speak_headline(project),
        "description": usual.get("description")
        or speak(project.page_config["description"], PAGE_CONFIG["description"]),
        "signature": usual.get("signature") or page["signature"],
        "prompts": speak_lines(page["prompts"], usual.get("prompts")),
        "questions": [show_question(each) for each in own["questions"]],
        "steps": project.open_steps,
    }
    if form is not None:
        for name in ("headline", "description"):
            shown[name] = words.get(name) or own[name] or shown[name]
        shown["prompts"] = speak_lines(own["prompts"], words.get("prompts")) or shown["prompts"]
    return shown


def speak(text: str, standard: str) -> str:
    """Return the owner's text, translated if it is the standard text."""
    return translate(standard) if text == standard else text


def _words(translations: Mapping[str, Any]) -> Mapping[str, Any]:
    words: Mapping[str, Any] = translations.get(current_language().code, {})
    return words


def _speak_headline(project: Project) -> str:
    headline: str = project.page_config["headline"]
    if headline != default_page_config(project.business_name)["headline"]:
        return headline
    if not project.business_name:
        return translate(PAGE_CONFIG["headline"])
    return _(HEADLINE, name=project.business_name)


def describe_steps(steps: Sequence[Step]) -> list[Step]:
    """Add the host name of the URL, and the last day in the visitor's language, to each step."""
    described = []
    for step in steps:
        website = (urlsplit(step["url"]).hostname or "").removeprefix("www.")
        until = write_dates([step["until"]], "absolute", is_long=True)[0] if step["until"] else ""
        described.append(step | {"website": website, "last_day": until})
    return described
