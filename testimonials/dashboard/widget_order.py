"""The sheet that orders a widget's testimonials by hand, in its draft."""

from typing import Any

from flask import request, url_for

from testimonials.core.db.identifiers import ID_LENGTH
from testimonials.core.http.blueprints import widget_pages
from testimonials.core.http.fields import Text
from testimonials.core.http.forms import FormSchema, Identifiers
from testimonials.core.http.i18n import gettext as _
from testimonials.dashboard.formatting import describe_testimonial
from testimonials.dashboard.framework import Done, ProjectPage, Values
from testimonials.dashboard.widget_editor import answer_draft, find_named, name_in_address
from testimonials.projects.access import Access
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation import find_testimonial
from testimonials.widget import drafts
from testimonials.widget.drafts import read_draft

ON_A_PAGE = 20

order = ProjectPage(widget_pages, "widget/order", "widget/order.html")


class OrderForm(FormSchema):
    """The testimonial whose button was pressed, or all as a script has arranged them."""

    up = Text(ID_LENGTH)
    down = Text(ID_LENGTH)
    add = Text(ID_LENGTH)
    remove = Text(ID_LENGTH)
    ids = Identifiers()


@order.show
def show_order(access: Access) -> Values:
    """Describe those that come first, and a page of the others."""
    project, widget = access.project, find_named(access.project)
    after = request.args.get("after")
    first, shown = drafts.list_first(project, widget)
    others, cursor = drafts.list_others(project, first, after, ON_A_PAGE)
    return {
        "widget": name_in_address() or None,
        "first": [_describe_row(row, row.id in shown) for row in first],
        "is_only": read_draft(widget)["design"]["onlyChosen"],
        "others": [_describe_row(row) for row in others],
        "after": after,
        "next": cursor,
    }


@order.save(OrderForm)
def change_order(access: Access, ids: list[str], **pressed: str | None) -> Done:
    """Move, add or take out one in the draft, or arrange all."""
    project, widget = access.project, find_named(access.project)
    if added := pressed["add"]:
        drafts.add_to_order(project, widget, find_testimonial(project, added))
    elif removed := pressed["remove"]:
        drafts.take_out(project, widget, removed)
    elif moved := pressed["up"] or pressed["down"]:
        drafts.move(project, widget, moved, -1 if pressed["up"] else 1)
    elif ids:
        drafts.arrange(project, widget, ids)
    name, after = name_in_address() or None, request.args.get("after")
    here = url_for("dashboard.widget.show_order", widget=name, after=after)
    return answer_draft(project, widget, to=here)


def _describe_row(row: Testimonial, is_shown: bool = True) -> dict[str, Any]:
    hidden = ""
    if not is_shown:
        hidden = _("Left out by this widget’s selection") if row.is_visible else _("Not approved")
    # Where it is among the others: pinned first, then by time.
    rank = f"{int(row.is_pinned)} {row.submitted_at.isoformat()}" if row.is_visible else ""
    return describe_testimonial(row) | {"hidden": hidden, "rank": rank}
