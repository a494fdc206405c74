"""How a project collects: a page whose sentences follow from what it does and counts.

They stand in the template. None is made from what somebody wrote, but for the text of a reward.
Each holds for as long as its setting, so the page is never edited.
"""

from collections import Counter
from typing import Any

from flask import render_template
from sqlalchemy import and_, exists, func, select

from testimonials.collection.models import MailedRequest
from testimonials.collection.page_data import describe_page, describe_steps
from testimonials.core.audit import Event
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import collection
from testimonials.core.http.i18n import PARAMETER, asked_language, format_number
from testimonials.core.http.urls import policy_url
from testimonials.projects.models import Project
from testimonials.projects.page_design import write_offer
from testimonials.projects.projects import find_public_project
from testimonials.testimonials.counts import count_where, read_numbers
from testimonials.testimonials.models import OVERDUE_DAYS, REASONS, Testimonial, TestimonialCount
from testimonials.testimonials.record import find_gone
from testimonials.widget.container import WHOLE
from testimonials.widget.selection import read_content
from testimonials.widget.settings import list_saved, read_settings
from testimonials.widget.words import write_dates


@collection.get("/<slug>/how-we-collect")
def show_policy(slug: str) -> str:
    """Show how the project collects, to everybody."""
    project = find_public_project(slug=slug)
    url, language = policy_url(project.slug, project.own_host), asked_language()
    page = describe_page(project) | {
        "canonical": f"{url}?{PARAMETER}={language.code}" if language else url
    }
    return render_template("collection/policy.html", **page, **describe_collecting(project))


def describe_collecting(project: Project) -> dict[str, Any]:
    """Return what the sentences follow from."""
    shown, numbers = _count_shown(project), read_numbers(project)
    widgets = [read_settings(project), *map(read_settings, list_saved(project))]
    contents = [read_content(each.design, WHOLE) for each in widgets]
    samples = (TestimonialCount.status == "demo", ~TestimonialCount.is_deleted)
    counted = _count_received(project, has_gone=bool(shown["reasons"]))
    end = project.numbers_from if numbers.is_old else None
    return {
        "is_open": project.is_open,
        "has_orders": bool(shown["verified"] or project.purchase_secret),
        "published": shown,
        "numbers": numbers,
        "least_stars": max(each.min_rating for each in contents),
        "picks": any(each.tags or each.min_length or each.is_only_chosen for each in contents),
        "has_samples": count_where(project.id, *samples) > 0,
        "old_until": end and write_dates([end.date().isoformat()], "absolute", is_long=True)[0],
        "counted": counted,
        "overdue_days": OVERDUE_DAYS,
        "is_aside": bool(shown["reasons"] or counted.keys() & set(REASONS)),
        "rewards": [
            {"offer": write_offer(step), "until": step["last_day"]}
            for step in describe_steps(project.open_steps if project.is_open else [])
            if step["kind"] == "code"
        ],
        "asks_insider": project.whole_page_design["asksInsider"],
    }


def _count_shown(project: Project) -> dict[str, int]:
    """Count what is shown, without samples, and what is marked of it.

    And tell whether anybody was asked by mail, and whether anything was ever set aside.
    """
    of = Testimonial
    conditions = {
        "all": of.id.is_not(None),
        "verified": of.purchase_verified_at.is_not(None),
        "mailed": and_(
            of.purchase_verified_at.is_not(None),
            exists().where(MailedRequest.testimonial_id == of.id),
        ),
        "insider": of.is_insider,
        "rewarded": of.is_rewarded,
        "translated": of.translated_from.is_not(None),
        "edited": and_(of.translated_from.is_(None), of.original_text != of.text),
    }
    known = {
        "asked": exists().where(MailedRequest.project_id == project.id),
        "reasons": exists().where(Event.project_id == project.id, Event.reason.is_not(None)),
    }
    counts = (func.count().filter(each) for each in conditions.values())
    query = select(*counts, *(select(each).scalar_subquery() for each in known.values())).where(
        of.project_id == project.id, of.is_visible, of.status != "demo"
    )
    found = map(int, db.session.execute(query).one())
    return dict(zip((*conditions, *known), found, strict=True))


def _count_received(project: Project, *, has_gone: bool) -> dict[str, str]:
    """Return how many came from each source, and how many of any don't count, by their standing.

    What was set aside counts among those for good: its entry outlives it.
    """
    of, found = TestimonialCount, Counter[str]()
    query = select(of.standing, of.source, func.sum(of.number)).where(of.project_id == project.id)
    for standing, source, number in db.session.execute(query.group_by(of.standing, of.source)):
        found[source if standing == "genuine" else standing] += int(number)
    if has_gone:
        found.update(entries[-1]["reason"] for entries in find_gone(project.id).values())
    return {name: format_number(number) for name, number in found.items() if number}
