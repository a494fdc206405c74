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
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop, ngettext, translate
from testimonials.core.http.urls import image_url
from testimonials.core.images.colors import colour_of, initials_of
from testimonials.core.text import Parts, compare_texts
from testimonials.dashboard.formatting import LANGUAGE_NAMES, name_field, name_status
from testimonials.projects.access import Access
from testimonials.projects.changes import CHANGES, kinds_of
from testimonials.projects.models import Project, Proposal
from testimonials.projects.proposals import name_agents
from testimonials.testimonials.changes import name_state, read_fields
from testimonials.testimonials.models import Testimonial

# How many the inbox shows at once.
SHOWN = 20
PAGE_PICTURES = ("logo", "cover", "portrait")
# These are displayed in their own way; all others are compared with the current values.
NOT_COMPARED = ("testimonial.add", "testimonial.decide", "form.delete", "request")
DECISIONS = {
    "approve": gettext_noop("Approve"),
    "reject": gettext_noop("Reject"),
    "delete": gettext_noop("Delete"),
    "restore": gettext_noop("Restore"),
    "set-aside": gettext_noop("Set aside"),
    "release": gettext_noop("Not spam"),
    "pin": gettext_noop("Pin"),
    "unpin": gettext_noop("Unpin"),
}


def list_waiting(access: Access) -> Sequence[Proposal]:
    """Return the first proposals that the person may decide, sorted by maker and kind."""
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
    now, problem = _read_now(project, row, target, named)
    ids = dict.fromkeys(row.values.get("ids", ()))
    return {
        "row": row,
        "title": name_proposal(row, target),
        "is_compared": row.kind not in NOT_COMPARED,
        "differences": list_differences(row, now) if row.kind not in NOT_COMPARED else [],
        "card": _describe_card(row.values) if row.kind == "testimonial.add" else None,
        "about": [(one := named.get(id), one and name_status(one)) for id in ids],
        "people": row.values.get("people", []),
        "mail": _describe_mail(project, row.values) if row.kind == "request" else None,
        "problem": problem,
        "changed": _list_changed(row, now, named),
        **_picture_urls(project, row, target),
    }


def _read_now(
    project: Project, row: Proposal, target: Testimonial | None, named: Mapping[str, Testimonial]
) -> tuple[dict[str, Any], str]:
    """Return the current values, and the reason if the proposal can no longer be accepted."""
    change = CHANGES[row.kind]
    if target is not None and target.status == "withdrawn":
        return row.before, _("Its author has withdrawn it, so it can only be deleted.")
    try:
        values = change.schema.check(row.values)
        # All testimonials were loaded by one query.
        if row.kind == "testimonial.edit" and target is not None:
            return read_fields(target), ""
        if row.kind == "testimonial.decide":
            states = {id: name_state(one) for id, one in named.items()}
            return {"ids": row.before.get("ids", {}) | states}, ""
        now = change.before(project, row.target_id, values)
    except ServiceError as error:
        return row.before, error.shown
    except ValidationError:
        return row.before, _("This can no longer be accepted, because the rules have changed.")
    return now, ""


def _list_changed(
    row: Proposal, now: dict[str, Any], named: Mapping[str, Testimonial]
) -> list[str]:
    """Return the fields, or the authors of testimonials, that changed since the proposal."""
    before, after = _flatten(row.before), _flatten(now)
    names = [name.removeprefix("ids.") for name in before if after.get(name) != before[name]]
    return [named[name].author_name if name in named else name_field(name) for name in names]


def name_proposal(row: Proposal, target: Testimonial | None = None) -> str:
    """Return the title of a proposal: what it would do, and to whom or what."""
    values = row.values
    if row.kind == "testimonial.decide":
        title, count = DECISIONS.get(values["decision"], values["decision"]), len(values["ids"])
        about = ngettext("%(num)s testimonial", "%(num)s testimonials", count)
        reason = REASONS.get(values.get("reason", ""))
        return ": ".join([translate(title), about] + ([translate(reason)] if reason else []))
    title = translate(CHANGES[row.kind].title)
    title = title[:1].upper() + title[1:]
    name = target.author_name if target else values.get("authorName") or values.get("name")
    return f"{title}: {name}" if name else title


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
    """Return the subject and text of the email that people would get."""
    subject, message = suggest_texts(project, values["language"])
    return {
        "subject": values.get("subject", subject),
        "message": values.get("message", message),
        "language": LANGUAGE_NAMES[values["language"]],
    }


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


# Differences: the values before and after, marked where they differ.

PICTURES = ("imageId", "avatarId")
# Lists that are written with one item on each line.
LINES = ("prompts", "questions", "steps")
_COLOR = re.compile(r"#[0-9A-F]{6}")


@dataclass(frozen=True)
class Difference:
    name: str
    label: str
    before: Parts
    after: Parts
    # Colors are also shown beside their names.
    colours: tuple[str, str] = ("", "")
    is_picture: bool = False


def list_differences(row: Proposal, now: dict[str, Any]) -> list[Difference]:
    """Return the fields that a proposal would change, compared with the values `now`."""
    before, after = _flatten(now), _flatten(row.values)
    # The name only identifies the form.
    after.pop("name", None)
    old, new = _quote_highlights(before, before), _quote_highlights(after, before | after)
    fields = CHANGES[row.kind].schema.fields
    choices = {name for name, field in fields.items() if isinstance(field, Choice)}
    return [
        _compare(name, old.get(name), new[name], is_choice=name in choices)
        for name, value in after.items()
        if name not in before or before[name] != value
    ]


def write_value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return _("On") if value else _("Off")
    if name == "language":
        return LANGUAGE_NAMES.get(value, _("Each visitor’s own"))
    if value is None or value in ("", []):
        return _("None")
    if isinstance(value, dict):
        return _write_parts(value, "\n")
    if isinstance(value, list):
        items = (_write_parts(each, " · ") if isinstance(each, dict) else each for each in value)
        return ("\n" if name in LINES else ", ").join(map(str, items))
    if name == "kind":
        return translate(value.capitalize())
    return f"{value:g}" if isinstance(value, float) else str(value)


def _write_parts(values: Mapping[str, Any], separator: str) -> str:
    """Return the values that are set, each with its label."""
    parts = {name: value for name, value in _flatten(values).items() if value and name != "id"}
    return separator.join(f"{name_field(name)}: {write_value(name, parts[name])}" for name in parts)


def _quote_highlights(values: dict[str, Any], words: dict[str, Any]) -> dict[str, Any]:
    """Return the values with highlights as quotes, if the text is known."""
    ranges, text = values.get("highlights"), words.get("text")
    if not ranges or text is None:
        return values
    return values | {"highlights": [f"“{text[start:end]}”" for start, end in ranges]}


def _flatten(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values, with those in objects under names such as `outer.inner`."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
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
