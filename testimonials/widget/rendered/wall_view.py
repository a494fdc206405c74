"""How the wall and the page of one testimonial are shown: links to filters, bars, words."""

from dataclasses import replace
from typing import Any

from flask import url_for

from testimonials.core.urls import testimonial_picture_url, testimonial_url
from testimonials.core.web.languages import gettext, language_query, ngettext
from testimonials.projects.models import Project
from testimonials.widget.content.saved_widgets import read_settings
from testimonials.widget.rendered.cards import describe_stars
from testimonials.widget.rendered.frame import render_page
from testimonials.widget.rendered.rendering import make_still
from testimonials.widget.rendered.structured_data import describe_ratings
from testimonials.widget.rendered.wall_contents import SORTS, WallChoice
from testimonials.widget.selection import WHOLE, Selection

# How much of a testimonial describes its page.
SUMMARY_LENGTH = 200


def render_wall(
    project: Project, choice: WallChoice, contents: dict[str, Any], *, is_first: bool
) -> str:
    """Render the wall with the `contents` that `read_wall` returned."""
    figures, items = contents["figures"], contents["items"]
    settings = read_settings(project)
    # A carousel's single row would not be a wall.
    kind = "list" if settings.config["layout"] == "list" else "masonry"
    still = make_still(project, settings, items, kind=kind if len(items) > 1 else "single")
    filters = _list_filters(project, choice, figures)
    total = next((each["count"] for each in filters if each["is_current"]), None)
    return render_page(
        "widget/wall.html",
        project,
        still,
        figures=figures,
        rated=describe_stars(figures["average"], still.words),
        bars=_list_bars(project, choice, figures),
        filters=filters,
        sorts=_list_sorts(project, choice),
        next_url=contents["next"] and _url(project, choice, after=contents["next"]),
        # Where a further page begins is not known.
        progress={"shown": len(items), "total": total} if total and is_first else None,
        is_indexed=figures["total"] > figures["samples"],
        plays_here=still.has_extras,
        seen_url=url_for("beacons.note_seen", project_id=project.id),
        seen_ids=" ".join(item["id"] for item in items),
        structured_data=describe_ratings(project, items, figures),
    )


def render_testimonial(project: Project, item: dict[str, Any]) -> str:
    """Render the page of one item of the wall."""
    text = " ".join(item["text"].split())
    is_short = len(text) <= SUMMARY_LENGTH
    return render_page(
        "widget/testimonial.html",
        project,
        make_still(project, read_settings(project), [item], kind="single", is_player=True),
        author=item["authorName"],
        summary=text if is_short else text[: SUMMARY_LENGTH - 1].rstrip() + "…",
        canonical=testimonial_url(project.slug, item["id"], project.own_host),
        picture_url=testimonial_picture_url(project.slug, item["id"], project.own_host),
        all_url=url_for("wall.show_wall", slug=project.slug, **language_query()),
        is_indexed="isSample" not in item,
        structured_data=describe_ratings(project, [item]),
    )


def _list_filters(
    project: Project, choice: WallChoice, figures: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the links of the filters, each with how many testimonials it shows.

    The chosen ones are marked; a tag that isn't among the offered ones has no count.
    """
    offered = [(gettext("All"), figures["total"], WallChoice(WHOLE))]
    if choice.rating:
        label = ngettext("%(num)s star", "%(num)s stars", choice.rating)
        count = figures["stars"][5 - choice.rating]
        offered.append((label, count, WallChoice(WHOLE, rating=choice.rating)))
    for name, count in figures["tags"]:
        offered.append((name, count, WallChoice(Selection(tag=name))))
    if 0 < figures["photos"] < figures["total"] or choice.has_photo:
        offered.append(
            (gettext("With photo"), figures["photos"], WallChoice(WHOLE, has_photo=True))
        )
    return [
        {
            "label": label,
            "count": count,
            "url": _url(project, replace(each, sort=choice.sort)),
            "is_current": each.filters == choice.filters,
        }
        for label, count, each in offered
    ]


def _list_bars(
    project: Project, choice: WallChoice, figures: dict[str, Any]
) -> list[dict[str, Any]]:
    return [
        {
            "stars": number,
            "count": count,
            "share": round(count / figures["count"] * 100, 1),
            "url": _url(project, WallChoice(WHOLE, rating=number, sort=choice.sort)),
            "is_current": choice.rating == number,
        }
        for number, count in zip((5, 4, 3, 2, 1), figures["stars"], strict=True)
        if figures["count"]
    ]


def _list_sorts(project: Project, choice: WallChoice) -> list[dict[str, Any]]:
    labels = {"newest": gettext("Newest"), "best": gettext("Best first")}
    return [
        {
            "label": labels[sort],
            "url": _url(project, replace(choice, sort=sort)),
            "is_current": sort == choice.sort,
        }
        for sort in SORTS
    ]


def _url(project: Project, choice: WallChoice, **more: str) -> str:
    query = choice.query | more | language_query()
    return url_for("wall.show_wall", slug=project.slug, **query)
