"""What the inbox shows: a page of testimonials, its filters, and what to do when it is empty."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from flask import url_for

from testimonials.collection.forms import list_forms
from testimonials.collection.requests import find_asked_emails
from testimonials.collection.spam import count_flood
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop, ngettext, translate
from testimonials.core.http.urls import collection_page_url, testimonial_url
from testimonials.core.settings.current import count_days, current_settings
from testimonials.core.text import TAG_LENGTH
from testimonials.dashboard.formatting import describe_testimonial
from testimonials.projects.defaults import SLUG_LENGTH
from testimonials.projects.models import Project
from testimonials.projects.projects import make_slug
from testimonials.testimonials.inbox import (
    KINDS,
    PAGE_SIZE,
    SOURCES,
    TABS,
    InboxFilter,
    Total,
    list_inbox,
)
from testimonials.testimonials.media.playback import load_recordings
from testimonials.testimonials.search import mark_words, read_words
from testimonials.testimonials.tags import list_project_tags

MAX_SEARCH = 200
EMPTY = {
    "pending": (
        gettext_noop("Nothing is waiting"),
        gettext_noop("What customers write on your collection page arrives here."),
    ),
    "approved": (
        gettext_noop("Nothing is approved yet"),
        gettext_noop("Approved testimonials show in your widget."),
    ),
    "rejected": (
        gettext_noop("Nothing is rejected"),
        gettext_noop(
            "Rejected testimonials, and those that their authors withdrew, are kept here and shown "
            "nowhere."
        ),
    ),
    "all": (
        gettext_noop("No testimonials yet"),
        gettext_noop("Send customers the link to your collection page."),
    ),
    "trash": (
        gettext_noop("The trash is empty"),
        gettext_noop("Deleted testimonials stay here."),
    ),
    "spam": (
        gettext_noop("No spam here"),
        gettext_noop("What looks like spam is held here."),
    ),
}


def read_filter(values: Any) -> InboxFilter:
    """Return the filter in a URL or form, ignoring values that make no sense."""
    tab, rating, source = values.get("status"), values.get("rating"), values.get("source", "")
    return InboxFilter(
        tab=tab if tab in TABS else "pending",
        q=values.get("q", "").replace("\0", "").strip()[:MAX_SEARCH],
        rating=int(rating) if rating in ("1", "2", "3", "4", "5") else None,
        source=source if source in SOURCES else "",
        tag=values.get("tag", "").replace("\0", "").strip()[:TAG_LENGTH],
        form=make_slug(values.get("form", "")[:SLUG_LENGTH]),
        kind=values["kind"] if values.get("kind") in KINDS else "",
    )


def describe_inbox(
    project: Project, wanted: InboxFilter, page: int, counts: dict[str, int]
) -> dict[str, Any]:
    """Return what a page of the inbox shows; `counts` are those of the tabs (`count_tabs`)."""
    rows, page, total = list_inbox(project.id, wanted, page, counts)
    # Of a search that found too many, these are all that are listed.
    is_all = total.is_whole or not wanted.q
    total = total._replace(is_whole=True) if wanted.q else total
    load_recordings(rows)
    invited = find_asked_emails(row.id for row in rows)
    return {
        "project": project,
        "page_url": collection_page_url(project.slug, project.own_host),
        "tabs": TABS,
        "filters": wanted,
        "tags": _list_tags(project, wanted),
        "forms": {form.name: form.title for form in list_forms(project)},
        "items": [
            describe_testimonial(row)
            | {
                "tags": _describe_tags(wanted, row.tags),
                "asked_email": invited.get(row.id),
                "public_url": testimonial_url(project.slug, row.id, project.own_host)
                if row.is_visible and project.is_active
                else None,
            }
            for row in rows
        ],
        # Where nothing waits, the first steps are what there is to do.
        "total": total,
        "is_all": is_all,
        "split_found": partial(mark_words, read_words(wanted.q)),
        "flood_count": count_flood(project) if counts["spam"] else 0,
        "flood_limit": current_settings().flood_per_hour,
        "pager": _describe_pager(wanted, page, total),
        "return_to": _describe_address(wanted, page),
        "empty": _describe_empty(project, wanted),
    }


def _describe_address(wanted: InboxFilter, page: int = 1) -> str:
    values: dict[str, Any] = {
        "status": wanted.tab,
        "q": wanted.q,
        "rating": str(wanted.rating or ""),
        "source": wanted.source,
        "tag": wanted.tag,
        "kind": wanted.kind,
        "form": wanted.form,
        "page": str(page) if page > 1 else "",
    }
    return url_for(
        "dashboard.inbox.show_inbox", **{name: text for name, text in values.items() if text}
    )


def _list_tags(project: Project, wanted: InboxFilter) -> list[str]:
    names = [tag.name for tag in list_project_tags(project.id)]
    # A bookmarked URL may name a tag that is no longer used.
    missing = [wanted.tag] if wanted.tag and wanted.tag not in names else []
    return names + missing


def _describe_tags(wanted: InboxFilter, names: Sequence[str]) -> list[dict[str, str]]:
    return [{"name": name, "url": _describe_address(replace(wanted, tag=name))} for name in names]


def _describe_pager(wanted: InboxFilter, page: int, total: Total) -> dict[str, Any]:
    first, last = (page - 1) * PAGE_SIZE + 1, min(page * PAGE_SIZE, total.number)
    has_next = last < total.number or not total.is_whole
    return {
        "prev_url": _describe_address(wanted, page - 1) if page > 1 else None,
        "next_url": _describe_address(wanted, page + 1) if has_next else None,
        "label": _("%(first)s to %(last)s of %(total)s", first=first, last=last, total=total)
        if last >= first
        else "",
    }


def _describe_empty(project: Project, wanted: InboxFilter) -> dict[str, Any]:
    if wanted.is_narrowed:
        return {
            "title": _("Nothing found"),
            "text": _("No testimonial here matches the search and the filters."),
            "action_label": _("Clear them"),
            "action_url": url_for("dashboard.inbox.show_inbox", status=wanted.tab),
        }
    title, text = EMPTY[wanted.tab]
    is_start = wanted.tab in ("pending", "all")
    return {
        "title": translate(title),
        "text": _say_for_how_long(wanted.tab) or translate(text),
        "action_label": _("Open the collection page") if is_start else None,
        "action_url": collection_page_url(project.slug, project.own_host) if is_start else None,
    }


def _say_for_how_long(tab: str) -> str:
    if tab == "trash" and (days := count_days("trash")):
        return ngettext(
            "Deleted testimonials stay here for %(num)s day.",
            "Deleted testimonials stay here for %(num)s days.",
            days,
        )
    if tab == "spam" and (days := count_days("spam")):
        return ngettext(
            "What looks like spam is held here for %(num)s day.",
            "What looks like spam is held here for %(num)s days.",
            days,
        )
    return ""


def read_page(text: str) -> int:
    """Return the page number, 1 for anything that isn't one."""
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 7 and int(text) else 1
