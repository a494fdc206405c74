"""The wall of love, the page of one testimonial, and structured data."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flask import redirect, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup
from sqlalchemy import ColumnExpressionArgument, select

from testimonials.core.db.identifiers import is_identifier
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import wall
from testimonials.core.http.errors import (
    NotFound,
    ValidationFailed,
    answer_service_error,
    require_found,
)
from testimonials.core.http.i18n import (
    gettext,
    gettext_noop,
    language_query,
    ngettext,
    translate_to_all,
)
from testimonials.core.http.urls import testimonial_picture_url, testimonial_url
from testimonials.core.text import cut
from testimonials.projects.models import Project
from testimonials.projects.projects import find_public_project
from testimonials.projects.settings import find_renamed
from testimonials.projects.widget_design import DEFAULTS
from testimonials.testimonials.counts import (
    HAS_PHOTO,
    NO_NUMBERS,
    count_ratings,
    count_tags,
    read_numbers,
)
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.testimonials import ADDED
from testimonials.widget.cache import keep_page
from testimonials.widget.container import WHOLE, Selection, read_selection
from testimonials.widget.drafts import read_rated
from testimonials.widget.render import describe_stars, make_still, render_page
from testimonials.widget.selection import (
    BEST,
    EVERYTHING,
    NEWEST,
    Content,
    count_shown,
    find_conditions,
    read_content,
    read_page,
)
from testimonials.widget.settings import describe_proof, describe_shown, find_settings, rate

SORTS = (NEWEST, BEST)


@dataclass(frozen=True)
class WallChoice:
    """A visitor's choices; the links of the wall have at most one filter."""

    selection: Selection
    # Stars from 1 to 5, 0 for any.
    rating: int = 0
    has_photo: bool = False
    sort: str = SORTS[0]

    @property
    def query(self) -> dict[str, Any]:
        values = {
            "rating": self.rating,
            "photo": int(self.has_photo),
            "sort": "" if self.sort == SORTS[0] else self.sort,
        }
        return self.selection.query | {name: value for name, value in values.items() if value}

    @property
    def filters(self) -> dict[str, Any]:
        """The query parameters without the order."""
        return {name: value for name, value in self.query.items() if name != "sort"}


def read_choice(arguments: Mapping[str, str]) -> WallChoice:
    """Read the wall's query parameters; raise `ValidationFailed`."""
    rating, photo = arguments.get("rating", ""), arguments.get("photo", "")
    sort = arguments.get("sort", "") or SORTS[0]
    errors: dict[str, list[str]] = {}
    if rating not in ("", *"12345"):
        errors["rating"] = ["Must be a number of stars from 1 to 5."]
    if photo not in ("", "0", "1"):
        errors["photo"] = ["Must be 1 or 0."]
    if sort not in SORTS:
        errors["sort"] = [f"Must be one of: {', '.join(SORTS)}."]
    if errors:
        raise ValidationFailed.of(errors)
    selection = read_selection({name: arguments.get(name, "") for name in ("tag", "min")})
    return WallChoice(selection, int(rating or 0), photo == "1", sort)


def read_wall(project: Project, choice: WallChoice, after: str | None) -> dict[str, Any]:
    """Return `figures`, a page of `items`, and the `next` cursor; raise `ValidationFailed`."""
    page: dict[str, Any] = {"figures": count_figures(project), "items": [], "next": None}
    if not project.is_active:
        return page
    query = select(Testimonial).where(*_conditions(project, choice))
    rows, cursor = read_page(query, choice.sort, after, 50)
    return page | {"items": describe_shown(project, rows), "next": cursor}


def find_shown_testimonial(project: Project, testimonial_id: str) -> dict[str, Any]:
    """Return the shown testimonial with this id, as an item; raise `NotFound`."""
    row = None
    if project.is_active and is_identifier(testimonial_id):
        content = Content(testimonial_id=testimonial_id)
        query = select(Testimonial).where(*find_conditions(project, content))
        row = db.session.scalars(query).one_or_none()
    row = require_found(row, gettext_noop("It may have moved, or the address may be mistyped."))
    return describe_shown(project, [row])[0]


def count_figures(project: Project) -> dict[str, Any]:
    """Count what the wall shows, by stars (without samples), by tag, and with a photo.

    `average`, `count` and `stars` are of all genuine ratings, shown or not. Half stars are rounded
    up.
    """
    counts = count_ratings(project.id) if project.is_active else []
    shown = Counter[int]()
    for each in counts:
        shown[each.stars] += 0 if each.is_sample else each.number
    numbers = read_numbers(project) if project.is_active else NO_NUMBERS
    return {
        "total": sum(each.number for each in counts),
        "samples": sum(each.number for each in counts if each.is_sample),
        "photos": sum(each.photos for each in counts),
        "average": numbers.average,
        "count": numbers.number,
        "genuine": numbers.genuine,
        "is_old": numbers.is_old,
        "stars": numbers.stars[::-1],
        "shown": [shown[number] for number in (5, 4, 3, 2, 1)],
        "tags": _count_tags(project) if counts else [],
    }


def _count_tags(project: Project) -> list[tuple[str, int]]:
    """Return the most frequent tags, which are offered as filters; the page accepts any tag."""
    counts = {name: shown for name, (_, shown) in count_tags(project.id).items() if shown}
    for name in translate_to_all(ADDED) if counts else ():
        counts.pop(name, None)
    return sorted(counts.items(), key=lambda tag: (-tag[1], tag[0]))[:12]


def _conditions(project: Project, choice: WallChoice) -> list[ColumnExpressionArgument[bool]]:
    conditions = [*find_conditions(project, read_content(DEFAULTS, choice.selection))]
    if choice.rating:
        # Like the counts of the bars: without samples, and with half stars rounded up.
        least = 1 if choice.rating == 1 else choice.rating - 0.5
        conditions += [Testimonial.rank >= least, Testimonial.status != "demo"]
        if choice.rating < 5:
            conditions.append(Testimonial.rank < choice.rating + 0.5)
    if choice.has_photo:
        conditions.append(HAS_PHOTO)
    return conditions


# Structured data (schema.org) for search engines.


def describe_ratings(
    project: Project, items: Sequence[dict[str, Any]], figures: Mapping[str, Any] | None = None
) -> Markup:
    """Return a JSON-LD script element about the ratings on a page with these items.

    It lists the items with a rating, except samples; the average is that of all genuine ratings,
    from `figures` if they are known. The result is empty if the owner hasn't named what is rated,
    or if no rating is shown.
    """
    rated = read_rated(project)
    shown = [item for item in items if "rating" in item and not item.get("isSample")]
    if rated is None or not shown:
        return Markup("")
    average, count = (figures["average"], figures["count"]) if figures else rate(project)
    data = {
        "@context": "https://schema.org",
        "@type": rated["kind"],
        "name": rated["name"],
        "aggregateRating": {
            "@type": "AggregateRating",
            "ratingValue": average,
            "ratingCount": count,
            "bestRating": 5,
            "worstRating": 1,
        },
        "review": [_describe(item) for item in shown],
    }
    # So that no text can close the element or open a comment.
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return Markup('<script type="application/ld+json">') + Markup(text) + Markup("</script>")  # noqa: S704


def _describe(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "@type": "Review",
        "author": {"@type": "Person", "name": item["authorName"]},
        "datePublished": item["submittedAt"][:10],
        "reviewRating": {
            "@type": "Rating",
            "ratingValue": item["rating"],
            "bestRating": 5,
            "worstRating": 1,
        },
    } | ({"reviewBody": item["text"]} if item["text"] else {})


# The pages of the wall and of one testimonial.


def render_wall(
    project: Project, choice: WallChoice, contents: dict[str, Any], *, is_first: bool
) -> str:
    """Render the wall with the `contents` that `read_wall` returned."""
    figures, items = contents["figures"], contents["items"]
    settings = find_settings(project)
    # The single row of a carousel wouldn't be a wall.
    kind = "list" if settings.config["layout"] == "list" else "masonry"
    still = make_still(
        project,
        settings,
        items,
        kind=kind if len(items) > 1 else "single",
        # It is about the whole wall, not only this page.
        proof=describe_proof(project, figures["total"] - figures["samples"], figures["genuine"]),
    )
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
        # Further pages don't know how many came before.
        progress={"shown": len(items), "total": total} if total and is_first else None,
        is_indexed=figures["total"] > figures["samples"],
        plays_here=still.has_extras,
        seen_url=url_for("analytics.note_seen", project_id=project.id),
        seen_ids=" ".join(item["id"] for item in items),
        structured_data=describe_ratings(project, items, figures),
    )


def render_testimonial(project: Project, item: dict[str, Any]) -> str:
    total, samples = count_shown(project, EVERYTHING)
    proof = describe_proof(project, total - samples)
    still = make_still(
        project, find_settings(project), [item], kind="single", is_player=True, proof=proof
    )
    return render_page(
        "widget/testimonial.html",
        project,
        still,
        author=item["authorName"],
        summary=cut(" ".join(item["text"].split()), 200),
        canonical=testimonial_url(project.slug, item["id"], project.own_host),
        picture_url=testimonial_picture_url(project.slug, item["id"], project.own_host),
        all_url=url_for("wall.show_wall", slug=project.slug, **language_query()),
        is_indexed="isSample" not in item,
        structured_data=describe_ratings(project, [item]),
    )


def _list_filters(
    project: Project, choice: WallChoice, figures: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the links of the filters, each with its number of testimonials."""
    offered, received = [(gettext("All"), figures["total"], WallChoice(WHOLE))], 0
    if choice.rating:
        label = ngettext("%(num)s star", "%(num)s stars", choice.rating)
        count, received = (figures[of][5 - choice.rating] for of in ("shown", "stars"))
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
            # How many ratings the bar counts.
            "of": received if each.rating and received > count else None,
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
            "is_shown": shown > 0,
        }
        for number, count, shown in zip(
            (5, 4, 3, 2, 1), figures["stars"], figures["shown"], strict=True
        )
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


@wall.get("/<slug>/wall")
def show_wall(slug: str) -> str:
    """Show the public wall, with everything approved, without scripts."""
    project = find_public_project(slug=slug)
    keep_page(project)
    choice, after = read_choice(request.args), request.args.get("after")
    contents = read_wall(project, choice, after)
    return render_wall(project, choice, contents, is_first=after is None)


@wall.get("/<slug>/<string(length=24):testimonial_id>")
def show_testimonial(slug: str, testimonial_id: str) -> str:
    project = find_public_project(slug=slug)
    keep_page(project)
    return render_testimonial(project, find_shown_testimonial(project, testimonial_id))


@wall.errorhandler(NotFound)
def redirect_renamed(error: NotFound) -> ResponseReturnValue:
    """Redirect from an old address, but not permanently, since it may be taken later."""
    arguments = request.view_args or {}
    if request.endpoint is None or not (renamed := find_renamed(arguments.get("slug", "\0"))):
        return answer_service_error(error)
    query = f"?{request.query_string.decode()}" if request.query_string else ""
    return redirect(url_for(request.endpoint, **arguments | {"slug": renamed}) + query, 307)
