"""What the inbox shows: a page of testimonials, its filters, and what to do when it is empty."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from flask import url_for

from testimonials.collection.forms.services import list_forms
from testimonials.collection.requests.asked_people import find_asked_emails
from testimonials.collection.spam import count_flood
from testimonials.core.text_rules import TAG_LENGTH
from testimonials.core.urls import collection_page_url, testimonial_url
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import gettext_noop, ngettext, translate
from testimonials.dashboard.describe import describe_testimonial
from testimonials.projects.configuration.defaults import SLUG_LENGTH
from testimonials.projects.models import Project
from testimonials.projects.slugs import make_slug
from testimonials.settings.current import count_days, current_settings
from testimonials.testimonials.moderation.inbox import (
    KINDS,
    PAGE_SIZE,
    SOURCES,
    TABS,
    InboxFilter,
    Total,
    list_inbox,
)
from testimonials.testimonials.moderation.tags import list_project_tags
from testimonials.testimonials.moderation.undoing import Step, Undone
from testimonials.testimonials.recordings.describing import load_recordings
from testimonials.testimonials.search.words import mark_words, read_words

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


# What was done to one testimonial, by the action; "" is anything else.
TO_ONE = {
    "approve": gettext_noop("Approved %(name)s"),
    "take_down": gettext_noop("Took down %(name)s"),
    "reject": gettext_noop("Rejected %(name)s"),
    "pin": gettext_noop("Pinned %(name)s"),
    "unpin": gettext_noop("Unpinned %(name)s"),
    "delete": gettext_noop("Deleted %(name)s"),
    "restore": gettext_noop("Restored %(name)s"),
    "spam": gettext_noop("Marked %(name)s as spam"),
    "release": gettext_noop("Moved %(name)s to Pending"),
    "edit": gettext_noop("Edited %(name)s"),
    "tag": gettext_noop("Changed the tags of %(name)s"),
    "highlight": gettext_noop("Changed the highlights of %(name)s"),
    "reply": gettext_noop("Changed the reply to %(name)s"),
    "": gettext_noop("Changed %(name)s"),
}
# The forms of each sentence for a number.
TO_MANY = {
    "approve": lambda num: ngettext(
        "Approved %(num)s testimonial", "Approved %(num)s testimonials", num
    ),
    "take_down": lambda num: ngettext(
        "Took down %(num)s testimonial", "Took down %(num)s testimonials", num
    ),
    "reject": lambda num: ngettext(
        "Rejected %(num)s testimonial", "Rejected %(num)s testimonials", num
    ),
    "pin": lambda num: ngettext("Pinned %(num)s testimonial", "Pinned %(num)s testimonials", num),
    "unpin": lambda num: ngettext(
        "Unpinned %(num)s testimonial", "Unpinned %(num)s testimonials", num
    ),
    "delete": lambda num: ngettext(
        "Deleted %(num)s testimonial", "Deleted %(num)s testimonials", num
    ),
    "restore": lambda num: ngettext(
        "Restored %(num)s testimonial", "Restored %(num)s testimonials", num
    ),
    "spam": lambda num: ngettext(
        "Marked %(num)s testimonial as spam", "Marked %(num)s testimonials as spam", num
    ),
    "release": lambda num: ngettext(
        "Moved %(num)s testimonial to Pending", "Moved %(num)s testimonials to Pending", num
    ),
    "edit": lambda num: ngettext("Edited %(num)s testimonial", "Edited %(num)s testimonials", num),
    "tag": lambda num: ngettext(
        "Changed the tags of %(num)s testimonial", "Changed the tags of %(num)s testimonials", num
    ),
    "highlight": lambda num: ngettext(
        "Changed the highlights of %(num)s testimonial",
        "Changed the highlights of %(num)s testimonials",
        num,
    ),
    "reply": lambda num: ngettext(
        "Changed the reply to %(num)s testimonial", "Changed the reply to %(num)s testimonials", num
    ),
    "": lambda num: ngettext("Changed %(num)s testimonial", "Changed %(num)s testimonials", num),
}


def report_action(action: str, was: str, what: str | int) -> str:
    """Say what was done to `what`, a name or a number, that had the status `was`."""
    if action == "reject" and was == "approved":
        action = "take_down"
    known = action if action in TO_ONE else ""
    if isinstance(what, str):
        return _(TO_ONE[known], name=what)
    return TO_MANY[known](what)


def describe_step(step: Step) -> str:
    """Say what a step did, as its notice said it."""
    what = step.author_name if step.count == 1 else step.count
    return report_action(step.action, step.was, what)


def describe_undone(undone: Undone, left: int) -> str:
    """Say what was undone, what was passed over, and how many steps are left."""
    step, passed = undone.step, len(undone.passed)
    parts = [_("Undid: %(change)s.", change=describe_step(step))]
    if undone.count < step.count:
        parts.append(
            ngettext(
                "%(num)s of them was changed since.",
                "%(num)s of them were changed since.",
                step.count - undone.count,
            )
        )
    if passed:
        parts.insert(0, _tell_passed(describe_step(undone.passed[0]), passed))
    if left:
        parts.append(ngettext("%(num)s more can be undone", "%(num)s more can be undone", left))
    else:
        parts.append(_("That was the last"))
    return " ".join(parts)


def _tell_passed(first: str, count: int) -> str:
    if count == 1:
        return _("Not undone, as it was changed since: %(change)s.", change=first)
    return ngettext(
        "%(num)s change was not undone: others changed the same since.",
        "%(num)s changes were not undone: others changed the same since.",
        count,
    )


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
        "is_idle": wanted == InboxFilter() and not rows,
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
    return url_for("inbox.show_inbox", **{name: text for name, text in values.items() if text})


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
            "action_url": url_for("inbox.show_inbox", status=wanted.tab),
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
