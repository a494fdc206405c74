"""What the inbox shows: a page of testimonials, filters, empty states, notices."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from flask import request, url_for
from sqlalchemy import select

from testimonials.collection.forms import list_forms
from testimonials.collection.requests import find_asked_emails
from testimonials.collection.storing import count_flood
from testimonials.core.extensions import db
from testimonials.core.http.errors import is_from_script
from testimonials.core.http.fields import Choice, Text
from testimonials.core.http.forms import FormSchema, describe_notice
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import (
    gettext_noop,
    ngettext,
    ngettext_noop,
    pgettext_noop,
    translate,
)
from testimonials.core.http.security import safe_target
from testimonials.core.http.urls import testimonial_url, wall_url
from testimonials.core.settings.table import count_days, current_settings
from testimonials.core.text import TAG_LENGTH
from testimonials.dashboard.formatting import (
    ACTIONS_DONE,
    SOURCES,
    STATUS_NAMES,
    describe_testimonial,
    name_status,
)
from testimonials.dashboard.framework import Done
from testimonials.dashboard.shell import count_inbox
from testimonials.projects.access import Access
from testimonials.projects.brand import find_brand
from testimonials.projects.defaults import SLUG_LENGTH
from testimonials.projects.models import Project
from testimonials.projects.projects import make_slug
from testimonials.testimonials import inbox
from testimonials.testimonials.media.playback import load_recordings
from testimonials.testimonials.models import REASONS, Testimonial
from testimonials.testimonials.moderation import ACTIONS
from testimonials.testimonials.search import mark_words, read_words
from testimonials.testimonials.tags import find_spellings, offer_tags, spell
from testimonials.testimonials.undo import Step, Undone, make_undo_token

MAX_SEARCH = 200
# The length of one of our URLs, or of a signed token.
MAX_LINE = 4_000
# How many cards are shown behind "All decided".
CARDS_SHOWN = 6
# Sentences about the number of testimonials, by trade.
SPEAKING = {
    "bakery": ngettext_noop(
        "%(num)s person speaks for your bread.", "%(num)s people speak for your bread."
    ),
    "cafe": ngettext_noop(
        "%(num)s person speaks for your café.", "%(num)s people speak for your café."
    ),
    "salon": ngettext_noop(
        "%(num)s person speaks for your salon.", "%(num)s people speak for your salon."
    ),
    "shop": ngettext_noop(
        "%(num)s person speaks for your shop.", "%(num)s people speak for your shop."
    ),
    "craft": ngettext_noop(
        "%(num)s person speaks for your work.", "%(num)s people speak for your work."
    ),
    "coach": ngettext_noop(
        "%(num)s person speaks for your coaching.", "%(num)s people speak for your coaching."
    ),
    "software": ngettext_noop(
        "%(num)s person speaks for your software.", "%(num)s people speak for your software."
    ),
    "anything": ngettext_noop("%(num)s person speaks for you.", "%(num)s people speak for you."),
}
KIND_NAMES = {
    "written": gettext_noop("Written"),
    "video": gettext_noop("Video"),
    "voice": gettext_noop("Voice"),
}
SOURCE_NAMES = SOURCES | {"demo": gettext_noop("Samples")}
# The filter offers the others.
MAIN_TABS = ("pending", "approved", "rejected", "all")
TAB_NAMES = {
    **STATUS_NAMES,
    "all": gettext_noop("All"),
    "trash": gettext_noop("Trash"),
    inbox.ASIDE: pgettext_noop("state", "Set aside"),
}
NOBODY = gettext_noop("Nobody has written yet")
EMPTY = {
    "pending": NOBODY,
    "approved": gettext_noop("Nothing is approved yet"),
    "rejected": gettext_noop("Nothing is rejected"),
    "all": NOBODY,
    "trash": gettext_noop("The trash is empty"),
    "spam": gettext_noop("No spam"),
    inbox.ASIDE: gettext_noop("Nothing is set aside"),
}


def read_filter(values: Any) -> inbox.InboxFilter:
    """Return the filter in a URL or form, ignoring invalid values."""
    tab, rating, source = values.get("status"), values.get("rating"), values.get("source", "")
    return inbox.InboxFilter(
        tab=tab if tab in inbox.TABS else "pending",
        q=values.get("q", "").replace("\0", "").strip()[:MAX_SEARCH],
        rating=int(rating) if rating in ("1", "2", "3", "4", "5") else None,
        source=source if source in inbox.SOURCES else "",
        tag=values.get("tag", "").replace("\0", "").strip()[:TAG_LENGTH],
        form=make_slug(values.get("form", "")[:SLUG_LENGTH]),
        kind=values["kind"] if values.get("kind") in inbox.KINDS else "",
    )


def read_spelled_filter(project: Project) -> inbox.InboxFilter:
    """Return the filter in the query string, with its tag as the project spells it."""
    filters = read_filter(request.args)
    if not filters.tag:
        return filters
    return replace(filters, tag=spell(find_spellings(project.id), [filters.tag])[0])


def describe_inbox(
    project: Project, filters: inbox.InboxFilter, page: int, counts: dict[str, int]
) -> dict[str, Any]:
    """Return what a page of the inbox shows; `counts` are those of `count_tabs`."""
    rows, page, total = inbox.list_inbox(project.id, filters, page, counts)
    # A search with too many matches lists only these.
    is_all = total.is_whole or not filters.q
    total = total._replace(is_whole=True) if filters.q else total
    forms = {form.name: form.title for form in list_forms(project)}
    is_done = filters == inbox.InboxFilter() and not rows and counts["approved"] > 0
    return {
        "tabs": [(tab, translate(TAB_NAMES[tab])) for tab in MAIN_TABS],
        "tab_names": {tab: translate(name) for tab, name in TAB_NAMES.items()},
        "filters": filters,
        "project_is_active": project.is_active,
        "query": read_query(filters, page),
        "choices": _list_choices(project, filters, forms),
        "chips": _list_chips(filters, forms),
        "items": _describe_rows(project, rows, filters),
        "forms": forms,
        "total": total,
        "is_all": is_all,
        "split_found": partial(mark_words, read_words(filters.q)),
        "flood_count": count_flood(project) if counts["spam"] else 0,
        "flood_limit": current_settings().flood_per_hour,
        "retention": _describe_retention(filters.tab),
        "pager": _describe_pager(filters, page, total),
        "return_to": describe_address(filters, page),
        "decided": _describe_decided(project, counts["approved"]) if is_done else None,
        "empty": None if rows or is_done else _describe_empty(project, filters, counts),
    }


def _describe_rows(
    project: Project, rows: Sequence[Testimonial], filters: inbox.InboxFilter
) -> list[dict[str, Any]]:
    load_recordings(rows)
    emails = find_asked_emails(row.id for row in rows)
    return [
        describe_testimonial(row)
        | {
            "tags": [(name, describe_address(replace(filters, tag=name))) for name in row.tags],
            "asked_email": emails.get(row.id),
            "public_url": testimonial_url(project.slug, row.id, project.own_host)
            if row.is_visible and project.is_active
            else None,
        }
        for row in rows
    ]


def read_query(filters: inbox.InboxFilter, page: int = 1) -> dict[str, Any]:
    """Return a filter and page as query parameters."""
    values = {
        "status": filters.tab,
        "q": filters.q,
        "rating": str(filters.rating or ""),
        "source": filters.source,
        "tag": filters.tag,
        "kind": filters.kind,
        "form": filters.form,
        "page": str(page) if page > 1 else "",
    }
    return {name: text for name, text in values.items() if text}


def describe_address(filters: inbox.InboxFilter, page: int = 1) -> str:
    return url_for("dashboard.inbox.show_inbox", **read_query(filters, page))


def _list_choices(
    project: Project, filters: inbox.InboxFilter, forms: dict[str, str]
) -> list[tuple[str, str, str, list[tuple[str, str]]]]:
    """Return the selects of the filter: name, label, chosen value and options."""
    # A bookmarked URL may name a tag that is no longer used.
    tags = offer_tags(project.id, filters.tag)
    in_tabs = "" if filters.tab in MAIN_TABS else filters.tab
    places = [(filters.tab if not in_tabs else "pending", _("Inbox"))]
    places += [(tab, translate(TAB_NAMES[tab])) for tab in ("spam", "trash", inbox.ASIDE)]
    stars = [(str(n), ngettext("%(num)s star", "%(num)s stars", n)) for n in (5, 4, 3, 2, 1)]
    sources = [(source, translate(SOURCE_NAMES[source])) for source in inbox.SOURCES]
    kinds = [(kind, translate(KIND_NAMES[kind])) for kind in inbox.KINDS]
    named = [(name, name) for name in tags if name]
    choices = [
        ("status", _("Folder"), filters.tab, places),
        ("rating", _("Rating"), str(filters.rating or ""), [("", _("All")), *stars]),
        ("kind", _("Kind"), filters.kind, [("", _("All")), *kinds]),
        ("source", _("Source"), filters.source, [("", _("All")), *sources]),
        ("form", _("Form"), filters.form, [("", _("All")), *forms.items()]),
        ("tag", _("Tag"), filters.tag, [("", _("All")), *named]),
    ]
    return [choice for choice in choices if len(choice[3]) > 1]


def _list_chips(filters: inbox.InboxFilter, forms: dict[str, str]) -> list[tuple[str, str]]:
    """Return the active filters in words, each with the URL that removes it."""
    stars = filters.rating or 0
    active: tuple[tuple[str, Any, Any], ...] = (
        ("tab", "pending", filters.tab not in MAIN_TABS and translate(TAB_NAMES[filters.tab])),
        ("q", "", filters.q and f"“{filters.q}”"),
        ("rating", None, stars and ngettext("%(num)s star", "%(num)s stars", stars)),
        ("kind", "", filters.kind and translate(KIND_NAMES[filters.kind])),
        ("source", "", filters.source and translate(SOURCE_NAMES[filters.source])),
        ("form", "", forms.get(filters.form, filters.form)),
        ("tag", "", filters.tag),
    )
    return [
        (str(words), describe_address(replace(filters, **{name: default})))
        for name, default, words in active
        if words
    ]


def _describe_pager(filters: inbox.InboxFilter, page: int, total: inbox.Total) -> dict[str, Any]:
    first, last = (page - 1) * inbox.PAGE_SIZE + 1, min(page * inbox.PAGE_SIZE, total.number)
    has_next = last < total.number or not total.is_whole
    return {
        "prev_url": describe_address(filters, page - 1) if page > 1 else None,
        "next_url": describe_address(filters, page + 1) if has_next else None,
        "label": _("%(first)s to %(last)s of %(total)s", first=first, last=last, total=total)
        if last >= first
        else "",
    }


def _describe_decided(project: Project, count: int) -> dict[str, Any]:
    """Return the text of "All decided", and the newest cards behind it."""
    rows = db.session.scalars(
        select(Testimonial)
        .where(inbox.match_filter(project.id, inbox.InboxFilter("approved")))
        .order_by(Testimonial.created_at.desc(), Testimonial.id.desc())
        .limit(CARDS_SHOWN)
    ).all()
    return {
        "cards": [describe_testimonial(row) for row in rows],
        "text": SPEAKING[find_brand(project).trade](count),
        "url": wall_url(project.slug, project.own_host) if project.is_active else "",
    }


def _describe_empty(
    project: Project, filters: inbox.InboxFilter, counts: dict[str, int]
) -> dict[str, Any]:
    """Return the title, text and actions of an empty page."""
    if filters.is_narrowed:
        return _describe_nothing_found(project, filters)
    title = EMPTY[filters.tab]
    ask = [(url_for("dashboard.collect.show_collect"), _("Ask three customers"))]
    if filters.tab == "approved" and counts["waiting"]:
        ask = [(url_for("dashboard.inbox.show_inbox"), _("Review"))]
    is_over = filters.tab == "pending" and (counts["rejected"] or counts["trash"])
    return {
        "title": _("Nothing waiting") if is_over else translate(title),
        "text": _describe_retention(filters.tab),
        "actions": ask if filters.tab in ("all", "pending", "approved") else [],
        "drawing": "cards",
    }


def _describe_nothing_found(project: Project, filters: inbox.InboxFilter) -> dict[str, Any]:
    clear = (url_for("dashboard.inbox.show_inbox", status=filters.tab), _("Clear"))
    title = _("No results for “%(words)s”", words=filters.q) if filters.q else _("No results")
    elsewhere = []
    for tab, label in (("all", _("Search all")), ("trash", _("Look in the trash"))):
        other = replace(filters, tab=tab)
        if filters.q and tab != filters.tab and inbox.find_words(project.id, other).ids:
            elsewhere.append((describe_address(other), label))
    return {
        "title": title,
        "text": _("Nothing matches the search and filters."),
        "actions": [*elsewhere[:1], clear],
        "drawing": "search",
    }


def _describe_retention(tab: str) -> str:
    if tab == "trash" and (days := count_days("trash")):
        return ngettext(
            "Deleted testimonials stay here for %(num)s day.",
            "Deleted testimonials stay here for %(num)s days.",
            days,
        )
    if tab == "spam" and (days := count_days("spam")):
        return ngettext(
            "What looks like spam stays here for %(num)s day.",
            "What looks like spam stays here for %(num)s days.",
            days,
        )
    return ""


def read_page(text: str) -> int:
    """Return the page number, or 1 if `text` isn't one."""
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 7 and int(text) else 1


# The buttons of the inbox.


class ReturnForm(FormSchema):
    """The page to which a button returns."""

    return_to = Text(MAX_LINE, load_default="")


class ActionForm(ReturnForm):
    action = Choice(*ACTIONS, missing=gettext_noop("This page is out of date. Reload it."))
    # Why it is set aside or deleted; may be empty.
    reason = Choice("", *REASONS, load_default="")


def return_target(return_to: str) -> str:
    return safe_target(return_to) or url_for("dashboard.inbox.show_inbox")


def done_with_undo(
    access: Access,
    text: str,
    batch: str | None = None,
    *,
    to: str = "",
    undo: str | None = None,
    row: str | None = None,
) -> Done:
    """Return a notice that offers to undo the batch, or what the token `undo` names.

    A script also gets the counts of the tabs and the id of the `row`.
    """
    token = make_undo_token(access.project, batch) if batch else undo
    shown: dict[str, Any] = {}
    if is_from_script():
        notice = describe_notice(text, token)
        shown = {"notice": notice, "counts": count_inbox(access), "row": row}
    return Done(text, to=to, undo=token, shown=shown)


def report_action(action: str, old_status: str, subject: str | int) -> str:
    """Return the notice of an action on `subject`, a name or a number of testimonials."""
    if action == "reject" and old_status == "approved":
        action = "take_down"
    return write_notice(ACTIONS_DONE.get(action, action), subject)


def write_notice(done: str, subject: str | int) -> str:
    return _("%(done)s: %(what)s", done=translate(done), what=subject)


def already_decided_text(row: Testimonial) -> str:
    """Return why an action didn't change a testimonial: somebody else was quicker."""
    return _("Already decided: %(state)s", state=name_status(row))


def describe_step(step: Step) -> str:
    """Return the notice that was shown for a step."""
    subject = step.author_name if step.count == 1 else step.count
    return report_action(step.action, step.was, subject)


def describe_undone(undone: Undone) -> str:
    """Return what was undone, and what was passed over."""
    step = undone.step
    parts = [_("Undone (%(change)s).", change=describe_step(step))]
    if undone.count < step.count:
        parts.append(
            ngettext(
                "%(num)s has changed since.",
                "%(num)s have changed since.",
                step.count - undone.count,
            )
        )
    if undone.passed:
        changes = ", ".join(map(describe_step, undone.passed))
        parts.insert(0, _("Changed since, so not undone (%(changes)s).", changes=changes))
    return " ".join(parts)
