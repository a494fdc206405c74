"""Waiting proposals as pages show them, and what each would change."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask import url_for
from marshmallow import ValidationError
from sqlalchemy import select

from testimonials.collection.request_mail import suggest_texts
from testimonials.core.event_lists import REASONS
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.fields import Choice
from testimonials.core.http.i18n import (
    LANGUAGES,
    format_percent,
    gettext_noop,
    ngettext,
    ngettext_noop,
    translate,
)
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.urls import image_url
from testimonials.core.images.colors import colour_of, initials_of
from testimonials.core.text import Parts, compare_texts
from testimonials.projects.access import Access
from testimonials.projects.changes import CHANGES, kinds_of
from testimonials.projects.models import Project, Proposal
from testimonials.projects.proposals import name_agents
from testimonials.testimonials.changes import name_state, read_fields
from testimonials.testimonials.fields import COLUMNS
from testimonials.testimonials.models import Testimonial

# In the inbox at once.
SHOWN = 20
PAGE_PICTURES = ("logo", "cover", "portrait")
COMPARED = ("page", "page.design", "form", *PAGE_PICTURES, "widget", "design", "testimonial.edit")
LANGUAGE_NAMES = {language.code: language.name for language in LANGUAGES}
# Titles of decisions, by the number of testimonials.
DECISIONS = {
    "approve": ngettext_noop("Approve a testimonial", "Approve %(num)s testimonials"),
    "reject": ngettext_noop("Reject a testimonial", "Reject %(num)s testimonials"),
    "delete": ngettext_noop(
        "Move to the trash: a testimonial", "Move to the trash: %(num)s testimonials"
    ),
    "restore": ngettext_noop("Restore a testimonial", "Restore %(num)s testimonials"),
    "set-aside": ngettext_noop("Set a testimonial aside", "Set %(num)s testimonials aside"),
    # No longer proposed; old ones can only be declined.
    "spam": ngettext_noop("Mark as spam: a testimonial", "Mark as spam: %(num)s testimonials"),
    "release": ngettext_noop("Not spam: a testimonial", "Not spam: %(num)s testimonials"),
}
# Titles of the other kinds.
TITLES = {
    "page": gettext_noop("Change the collection page"),
    "logo": gettext_noop("Change the logo"),
    "cover": gettext_noop("Change the page’s cover"),
    "portrait": gettext_noop("Change the face beside the page’s signature"),
    "page.design": gettext_noop("Change the page’s questions and look"),
    "widget": gettext_noop("Change the widget"),
    "design": gettext_noop("Change the widget’s design"),
}
# States of the testimonials in a decision.
STATES = {
    "pending": gettext_noop("pending"),
    "approved": gettext_noop("approved"),
    "rejected": gettext_noop("rejected"),
    "spam": gettext_noop("spam"),
    "withdrawn": gettext_noop("withdrawn"),
    "demo": gettext_noop("demo"),
    "deleted": gettext_noop("deleted"),
    "gone": gettext_noop("gone"),
}


def list_waiting(access: Access) -> Sequence[Proposal]:
    """Return the first proposals that the person may decide, by who made them and kind."""
    return db.session.scalars(
        select(Proposal)
        .where(Proposal.project_id == access.project.id, Proposal.status == "waiting")
        .where(Proposal.kind.in_(kinds_of(access)))
        .order_by(Proposal.actor_kind, Proposal.actor_name, Proposal.kind, Proposal.id)
        .limit(SHOWN)
    ).all()


def describe_proposals(project: Project, rows: Sequence[Proposal]) -> list[dict[str, Any]]:
    agents, named = name_agents(rows), _find_testimonials(project, rows)
    return [_describe(project, row, named) | {"who": agents[row.id]} for row in rows]


def _describe(project: Project, row: Proposal, named: Mapping[str, Testimonial]) -> dict[str, Any]:
    target = named.get(row.target_id or "")
    now, problem = _read_now(project, row, target)
    return {
        "row": row,
        "title": name_proposal(row, target),
        "differences": list_differences(row, now) if row.kind in COMPARED else [],
        "card": _describe_card(row.values) if row.kind == "testimonial.add" else None,
        "about": _list_about(row, named),
        "people": row.values.get("people", []),
        "mail": _describe_mail(project, row.values) if row.kind == "request" else None,
        "changed": list_changed(row, now) if row.kind in COMPARED else [],
        "problem": problem,
        **_picture_urls(project, row, target),
    }


def _read_now(
    project: Project, row: Proposal, target: Testimonial | None
) -> tuple[dict[str, Any], str]:
    """Return the present values, and why the proposal can no longer be accepted, if so."""
    change = CHANGES[row.kind]
    if target is not None and target.status == "withdrawn":
        return row.before, _("Its author has withdrawn it, so it can only be deleted.")
    try:
        values = change.schema.check(row.values)
        # Testimonials were loaded in one query.
        if row.kind == "testimonial.edit" and target is not None:
            return read_fields(target), ""
        if row.kind == "testimonial.decide":
            return row.before, ""
        now = change.before(project, row.target_id, values)
    except ServiceError as error:
        return row.before, error.shown
    except ValidationError:
        return row.before, _("This can no longer be accepted, because the rules have changed.")
    return now, ""


def name_proposal(row: Proposal, target: Testimonial | None = None) -> str:
    """Return the title of a proposal."""
    values = row.values
    if row.kind == "testimonial.edit":
        if target is None:
            return _("Edit a testimonial")
        return _("Edit what %(name)s wrote", name=target.author_name)
    if row.kind == "testimonial.add":
        return _("Add a testimonial by %(name)s", name=values["authorName"])
    if row.kind == "testimonial.decide":
        title = DECISIONS[values["decision"]](len(values["ids"]))
        if reason := REASONS.get(values.get("reason", "")):
            title = _("%(title)s: %(reason)s", title=title, reason=translate(reason))
        return title
    if row.kind == "form":
        if row.before:
            return _("Change the form %(form)s", form=values["name"])
        return _("Add the form %(form)s", form=values["name"])
    if row.kind == "form.delete":
        return _("Delete the form %(form)s", form=values["name"])
    if row.kind == "request":
        count = len(values["people"])
        return ngettext("Ask one person by email", "Ask %(num)s people by email", count)
    return translate(TITLES[row.kind])


def _describe_card(values: Mapping[str, Any]) -> dict[str, Any]:
    details = [values.get("authorRole", ""), values.get("authorCompany", "")]
    submitted_at = values.get("submittedAt")
    return {
        "name": values["authorName"],
        "initials": initials_of(values["authorName"]),
        "color": colour_of(values["authorName"]),
        "avatar_url": values.get("authorAvatar"),
        "details": ", ".join(filter(None, details)),
        "rating": values.get("rating"),
        "text": values["text"],
        "submitted_at": datetime.fromisoformat(submitted_at) if submitted_at else None,
    }


def _describe_mail(project: Project, values: Mapping[str, Any]) -> dict[str, str]:
    """Return the subject and text of the mail that people would get."""
    subject, message = suggest_texts(project, values["language"])
    return {
        "subject": values.get("subject", subject),
        "message": values.get("message", message),
        "language": LANGUAGE_NAMES[values["language"]],
    }


def _list_about(row: Proposal, named: Mapping[str, Testimonial]) -> list[dict[str, Any]]:
    """Return the testimonials of a decision, with their states then and now."""
    if row.kind != "testimonial.decide":
        return []
    states = row.before.get("ids", {})
    about = []
    for id in dict.fromkeys(row.values["ids"]):
        testimonial = named.get(id)
        now = name_state(testimonial) if testimonial else "gone"
        was = states.get(id, "")
        changed = translate(STATES.get(now, now)) if now != was else ""
        about.append(
            {"row": testimonial, "was": translate(STATES.get(was, was)), "changed": changed}
        )
    return about


def _find_testimonials(project: Project, rows: Sequence[Proposal]) -> dict[str, Testimonial]:
    ids = {row.target_id for row in rows if row.target_id}
    ids |= {id for row in rows for id in row.values.get("ids", ())}
    if not ids:
        return {}
    testimonials = db.session.scalars(
        select(Testimonial).where(Testimonial.project_id == project.id, Testimonial.id.in_(ids))
    )
    return {testimonial.id: testimonial for testimonial in testimonials}


def _picture_urls(
    project: Project, row: Proposal, target: Testimonial | None
) -> dict[str, str | None]:
    """Return the URLs of the pictures before and after; a proposed one isn't public."""
    column = row.kind if row.kind in PAGE_PICTURES else PAGE_PICTURES[0]
    now = target.avatar_url if target else image_url(getattr(project, f"{column}_id"))
    url = url_for("dashboard.inbox.get_proposed_picture", project_id=project.id, proposal_id=row.id)
    return {"picture_before": now, "picture_after": url if name_picture(row) else None}


def name_picture(row: Proposal) -> str:
    return row.values.get("imageId") or row.values.get("avatarId") or ""


# Labels of fields.

LABELS = {name: column.label for name, column in COLUMNS.items() if column.label} | {
    "animation": gettext_noop("Animation"),
    "asksInsider": gettext_noop("If they work here"),
    "avatarId": gettext_noop("Photo"),
    "brandColor": gettext_noop("Colour"),
    "businessName": gettext_noop("Name"),
    "buttonColor": gettext_noop("Button colour"),
    "buttonTextColor": gettext_noop("Button text colour"),
    "captions": gettext_noop("Captions"),
    "cardStyle": gettext_noop("Cards"),
    "color": gettext_noop("Colour"),
    "cardWidth": gettext_noop("Card width"),
    "chosen": gettext_noop("Chosen"),
    "company": gettext_noop("Company"),
    "coverFocus": gettext_noop("Focal point"),
    "dateStyle": gettext_noop("Date format"),
    "decision": gettext_noop("Decision"),
    "density": gettext_noop("Spacing"),
    "description": gettext_noop("Description"),
    "email": gettext_noop("Email"),
    "externalId": gettext_noop("External ID"),
    "featured": gettext_noop("First pinned card"),
    "font": gettext_noop("Font"),
    "form": gettext_noop("Form"),
    "headline": gettext_noop("Headline"),
    "ids": gettext_noop("IDs"),
    "imageId": gettext_noop("Picture"),
    "initialCount": gettext_noop("Number at first"),
    "isOpen": gettext_noop("Takes testimonials"),
    "labels": gettext_noop("Labels"),
    "language": gettext_noop("Language"),
    "layout": gettext_noop("Arrangement"),
    "marqueeRows": gettext_noop("Ticker lines"),
    "message": gettext_noop("Message"),
    "minLength": gettext_noop("Minimum length"),
    "minRating": gettext_noop("Lowest rating"),
    "name": gettext_noop("Name"),
    "needsCaptions": gettext_noop("Require captions"),
    "newName": gettext_noop("Name in its address"),
    "onlyChosen": gettext_noop("Only chosen by hand"),
    "order": gettext_noop("Order"),
    "palette": gettext_noop("Palette"),
    "people": gettext_noop("People"),
    "photoSize": gettext_noop("Photo size"),
    "prompts": gettext_noop("Guiding questions"),
    "questions": gettext_noop("Your own questions"),
    "radius": gettext_noop("Corners"),
    "readMore": gettext_noop("Read more"),
    "remindAfterDays": gettext_noop("Reminder"),
    "role": gettext_noop("Role"),
    "sendAfterDays": gettext_noop("When"),
    "shape": gettext_noop("Shape"),
    "showConfetti": gettext_noop("Confetti"),
    "showCtaButton": gettext_noop("“Add yours” button below"),
    "showDates": gettext_noop("Date"),
    "showHeader": gettext_noop("Average on top"),
    "showHighlights": gettext_noop("Highlighted words"),
    "showLess": gettext_noop("Show less"),
    "showMore": gettext_noop("Show more"),
    "showSource": gettext_noop("Source"),
    "showStars": gettext_noop("Stars"),
    "showsTranscript": gettext_noop("Show as the card’s text"),
    "signature": gettext_noop("Signature"),
    "starColor": gettext_noop("Star colour"),
    "steps": gettext_noop("Next steps"),
    "subject": gettext_noop("Subject"),
    "tag": gettext_noop("Tag"),
    "thankYouMessage": gettext_noop("Thanks"),
    "theme": gettext_noop("Light or dark"),
    "title": gettext_noop("Title"),
    "video": gettext_noop("Video"),
    "voice": gettext_noop("Voice"),
    "website": gettext_noop("Website"),
}
# The fields of `collectFields`.
ASKED = {
    "avatar": gettext_noop("Photo"),
    "company": gettext_noop("Company"),
    "email": gettext_noop("Email"),
    "rating": gettext_noop("Rating"),
    "role": gettext_noop("Role"),
}


def name_field(name: str) -> str:
    """Return the label of a field; one of an object is `outer.inner`."""
    part, _dot, inner = name.partition(".")
    if part == "collectFields":
        return translate(ASKED.get(inner, f"Ask for {inner}"))
    if part == "translations":
        return _("In %(language)s", language=LANGUAGE_NAMES.get(inner, inner))
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", inner or name)
    default = words[:1].upper() + words[1:].lower()
    return translate(LABELS.get(name) or LABELS.get(inner) or default)


# Differences: the values before and after, with marks where they differ.

PICTURES = ("imageId", "avatarId")
_COLOR = re.compile(r"#[0-9A-F]{6}")


@dataclass(frozen=True)
class Difference:
    name: str
    label: str
    before: Parts
    after: Parts
    # Shown beside their names.
    colours: tuple[str, str] = ("", "")
    is_picture: bool = False


# Objects that are compared as a whole.
WHOLE = ("coverFocus",)
# The kinds of questions, except choices.
QUESTIONS = {
    "text": gettext_noop("text"),
    "scale": gettext_noop("scale"),
    "consent": gettext_noop("consent"),
}
# Lists that are written with an item a line.
LINES = {"questions": lambda item: _write_question(item), "steps": lambda item: _write_step(item)}


def list_differences(row: Proposal, now: dict[str, Any]) -> list[Difference]:
    """Return the fields that a proposal would change, compared with the values `now`."""
    before, after = _flatten(now), _flatten(row.values)
    # It only identifies the form.
    after.pop("name", None)
    old, new = _quote_highlights(before, before), _quote_highlights(after, before | after)
    fields = CHANGES[row.kind].schema.fields
    choices = {name for name, field in fields.items() if isinstance(field, Choice)}
    return [
        _compare(name, old.get(name), new[name], is_choice=name in choices)
        for name, value in after.items()
        if name not in before or before[name] != value
    ]


def list_changed(row: Proposal, now: dict[str, Any]) -> list[str]:
    """Return the labels of the fields that have changed since the proposal was made."""
    before, after = _flatten(row.before), _flatten(now)
    return [name_field(name) for name, was in before.items() if after.get(name) != was]


def write_value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return _("On") if value else _("Off")
    if name == "language":
        return LANGUAGE_NAMES.get(value, _("Each visitor’s own"))
    if value is None or value in ("", []):
        return _("None")
    if name == "highlights" and not isinstance(value[0], str):
        return ngettext("%(num)s marked", "%(num)s marked", len(value))
    if name in LINES:
        return "\n".join(f"{place}. {LINES[name](item)}" for place, item in enumerate(value, 1))
    if name == "coverFocus":
        return _(
            "%(x)s from the left, %(y)s from the top",
            x=format_percent(value["x"]),
            y=format_percent(value["y"]),
        )
    if isinstance(value, dict):
        return "\n".join(f"{name_field(k)}: {write_value(k, v)}" for k, v in value.items())
    if isinstance(value, list):
        return ("\n" if name == "prompts" else ", ").join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _write_question(question: dict[str, Any]) -> str:
    """Return a question in words: What do you take home? (choice of Bread, Buns; on the card)."""
    facts = [translate(QUESTIONS.get(question["kind"], question["kind"]))]
    if question["choices"]:
        listed = ", ".join(question["choices"])
        several = _("choice of several: %(choices)s", choices=listed)
        facts = [
            several if question["several"] else _("choice of one: %(choices)s", choices=listed)
        ]
    if question["low"] or question["high"]:
        low, high = question["low"] or 0, question["high"] or 10
        facts.append(_("from %(low)s to %(high)s", low=low, high=high))
    facts += [_("must be answered")] * question["isRequired"]
    facts.append(_("on the card") if question["isPublic"] else _("only you see it"))
    names = [LANGUAGE_NAMES.get(code, code) for code in question["translations"]]
    facts += [_("in %(language)s too", language=name) for name in names]
    return f"{question['text']} ({'; '.join(facts)})"


def _write_step(step: dict[str, Any]) -> str:
    parts = [step["title"], step["text"], step["url"] or _("code %(code)s", code=step["code"])]
    parts += [_("copies their words")] * step["copies"]
    parts += [_("until %(day)s", day=step["until"])] * bool(step["until"])
    return " · ".join(filter(None, parts))


def _quote_highlights(values: dict[str, Any], words: dict[str, Any]) -> dict[str, Any]:
    """Return the values with highlights as quotes, if the text is known."""
    ranges, text = values.get("highlights"), words.get("text")
    if not ranges or text is None:
        return values
    return values | {"highlights": [f"“{text[start:end]}”" for start, end in ranges]}


def _flatten(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with those of objects as `outer.inner`."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict) and name not in WHOLE:
            flat |= {f"{name}.{inner}": one for inner, one in value.items()}
        else:
            flat[name] = value
    return flat


def _compare(name: str, before: Any, after: Any, *, is_choice: bool) -> Difference:
    old, new = write_value(name, before), write_value(name, after)
    if is_choice:
        old, new = (translate(text[:1].upper() + text[1:]) for text in (old, new))
    colours = tuple(text if _COLOR.fullmatch(text) else "" for text in (old, new))
    parts = compare_texts(old, new) if len(new) > len("#000000") else ([(old, True)], [(new, True)])
    return Difference(name, name_field(name), *parts, (colours[0], colours[1]), name in PICTURES)
