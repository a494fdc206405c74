"""The widget editor: the draft of a widget's settings and order, its preview, publishing.

``?widget=`` names a saved widget; without it the project's own is edited. The script sends the form
after each change, and gets what is stored and the preview's data.
"""

from typing import Any

from flask import g, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.core.audit import record
from testimonials.core.db.identifiers import ID_LENGTH
from testimonials.core.http.blueprints import widget_pages
from testimonials.core.http.errors import is_from_script
from testimonials.core.http.fields import Text
from testimonials.core.http.forms import FormSchema, Identifiers
from testimonials.core.http.i18n import ENGLISH, format_number, ngettext, translate
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.urls import collection_page_url, wall_url, widget_page_url
from testimonials.core.mail.outbox import FONTS
from testimonials.core.text import TAG_LENGTH
from testimonials.dashboard import widget_controls as controls
from testimonials.dashboard.formatting import describe_testimonial
from testimonials.dashboard.framework import Done, ProjectPage, Values, require_role
from testimonials.projects import defaults
from testimonials.projects.access import Access, Role
from testimonials.projects.brand import find_brand
from testimonials.projects.models import Project
from testimonials.projects.widget_design import choose_brand
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation import find_testimonial
from testimonials.testimonials.tags import offer_tags
from testimonials.widget import drafts
from testimonials.widget.drafts import read_draft
from testimonials.widget.events import WIDGET_CHANGED
from testimonials.widget.models import SavedWidget
from testimonials.widget.script import choose_draw
from testimonials.widget.selection import EVERYTHING, count_shown
from testimonials.widget.settings import (
    WidgetSettings,
    describe_feed,
    describe_header,
    find_widget,
    in_brand,
    list_saved,
    read_settings,
)
from testimonials.widget.words import write_words

editor = ProjectPage(widget_pages, "widget", "widget/editor.html")


@editor.show
def show_editor(access: Access) -> Values:
    project, widget = access.project, find_named(access.project)
    g.has_preview = True
    return _describe_state(project, widget) | _describe_form(project, widget)


@editor.save(controls.WidgetForm)
def save_widget(access: Access, before: Values, publish: str | None, **sent: Any) -> Done:
    """Write the form's changes to the draft, and publish it with ``publish``."""
    project, widget = access.project, find_named(access.project)
    if changes := controls.find_changes(before, sent):
        step = "+".join(sorted(changes))[:TAG_LENGTH]
        drafts.change_draft(
            widget, controls.apply_changes(drafts.read_draft(widget), changes), step=step
        )
    if not publish:
        return answer_draft(project, widget, _("Saved"))
    if drafts.publish_draft(project, widget):
        record(WIDGET_CHANGED, project)
    return answer_draft(project, widget, _("Published"))


@editor.save(at="/discard")
def discard_changes(access: Access) -> Done:
    widget = find_named(access.project)
    drafts.discard_draft(widget)
    return answer_draft(access.project, widget, _("Changes discarded"))


@editor.save(at="/undo")
def undo(access: Access) -> Done:
    widget = find_named(access.project)
    drafts.undo_draft(widget)
    return answer_draft(access.project, widget)


@widget_pages.get("/dashboard/projects/<project_id>/widget/preview")
@require_role(Role.ADMIN)
def show_preview(access: Access) -> ResponseReturnValue:
    """Show the widget alone, for the frame in the editor."""
    project, widget = access.project, find_named(access.project)
    g.is_preview = True
    return render_template(
        "dashboard/widget/preview.html",
        project_id=project.id,
        widget=name_in_address(),
        feed=describe_preview(project, widget, drafts.read_draft(widget)),
        page={
            "colour": project.brand.get("read", {}).get("ground", ""),
            "font": FONTS.get(find_brand(project).site_typeface, ""),
        },
    )


def name_in_address() -> str:
    return request.args.get("widget", "")


def find_named(project: Project) -> drafts.Widget:
    """Return the widget in ``?widget=``; raise `NotFound`."""
    return find_widget(project, name_in_address())


def answer_draft(
    project: Project, widget: drafts.Widget, notice: str = "", *, to: str = ""
) -> Done:
    """Redirect to the editor or `to`, or return the current state to the editor's script."""
    here = to or url_for("dashboard.widget.show_editor", widget=name_in_address() or None)
    if not is_from_script():
        return Done(notice, to=here)
    draft = drafts.read_draft(widget)
    shown = {
        "values": controls.to_controls(draft),
        "color": choose_brand(*in_effect(project, draft)),
        "feed": describe_preview(project, widget, draft),
    }
    return Done(notice, to=here, shown=_describe_state(project, widget) | shown)


def _describe_state(project: Project, widget: drafts.Widget) -> Values:
    """Return what the head of the page shows about the draft."""
    draft, published = drafts.read_draft(widget), drafts.read_published(widget)
    now, before = controls.to_controls(draft), controls.to_controls(published)
    count = sum(now[name] != before[name] for name in now)
    count += any(draft["design"][name] != published["design"][name] for name in ("order", "chosen"))
    nearest = drafts.find_nearest_look(draft["config"], draft["design"])
    return {
        "changed": ngettext(
            "%(num)s change, not on your site yet", "%(num)s changes, not on your site yet", count
        )
        if count
        else "",
        "look": controls.name_look(draft),
        "back": _("Back to “%(look)s”", look=translate(drafts.LOOKS[nearest].title)),
        "order": controls.name_order(draft["design"]),
        "may_undo": drafts.may_undo(widget),
    }


def _describe_form(project: Project, widget: drafts.Widget) -> Values:
    draft = drafts.read_draft(widget)
    values, brand = controls.to_controls(draft), find_brand(project)
    choices = controls.describe_choices(is_saved=isinstance(widget, SavedWidget))
    shown, samples = count_shown(project, EVERYTHING)
    if (number := shown - samples) > 1:
        choices["show"][0] = ("all", _("All %(num)s approved", num=format_number(number)))
    return {
        "widget": name_in_address(),
        "title": controls.name_widget(widget),
        "widgets": [
            _describe_other(project, widget),
            *(_describe_other(saved, widget) for saved in list_saved(project)),
        ],
        "values": values,
        "color": choose_brand(*in_effect(project, draft)),
        "brand_color": brand.color,
        "palettes": controls.PALETTES,
        "choices": choices,
        "tags": offer_tags(project.id, *values["tags"]),
        # What the button has if its fields are empty; a saved widget has no fields for it.
        "default_cta": drafts.read_cta(project)
        if isinstance(widget, SavedWidget)
        else {
            "label": drafts.CTA_LABEL,
            "url": collection_page_url(project.slug, project.own_host),
        },
        "wall_url": wall_url(project.slug, project.own_host),
        "page_url": widget_page_url(project.id, name_in_address()),
        "is_active": project.is_active,
    }


def _describe_other(widget: drafts.Widget, current: drafts.Widget) -> Values:
    settings = read_settings(widget)
    look = controls.name_look({"config": settings.config, "design": settings.design})
    if tags := settings.design["tags"]:
        look = _("%(look)s, “%(tags)s”", look=look, tags=", ".join(tags))
    return {
        "name": settings.name,
        "title": controls.name_widget(widget),
        "look": look,
        "is_current": widget is current,
    }


def in_effect(project: Project, settings: drafts.Settings) -> tuple[Values, Values]:
    """Return the settings with the brand's values as defaults."""
    shown = in_brand(project, WidgetSettings("", settings["config"], settings["design"]))
    return shown.config, shown.design


def describe_preview(project: Project, widget: drafts.Widget, settings: drafts.Settings) -> Values:
    """Return the widget's data with these settings, with as many testimonials as allowed."""
    config, design = in_effect(project, settings)
    name = widget.name if isinstance(widget, SavedWidget) else ""
    limit = None if design["shape"] else defaults.INITIAL_COUNT_RANGE[1]
    shown = WidgetSettings(name, config, design)
    feed = describe_feed(project, None, limit=limit, settings=shown)
    header = describe_header(project)
    cta = settings["cta"]
    # How the widget is drawn with no testimonial, with one, and with several.
    active = feed | {"project": feed["project"] | {"active": True}}
    draws = [choose_draw(active | {"total": total}) for total in range(3)]
    return (
        feed
        | {
            "draws": draws,
            "lang": ENGLISH.code,
            "signs": ENGLISH.signs,
            "words": write_words(design["labels"], header, name=project.name),
        }
        | ({"cta": feed["cta"] | {k: v for k, v in cta.items() if v}} if "cta" in feed else {})
    )


# Ordering a widget's testimonials by hand, in its draft.

PAGE_SIZE = 20

order = ProjectPage(widget_pages, "widget/order", "widget/order.html")


class OrderForm(FormSchema):
    """The testimonial whose button was pressed, or all in a script's order."""

    up = Text(ID_LENGTH)
    down = Text(ID_LENGTH)
    add = Text(ID_LENGTH)
    remove = Text(ID_LENGTH)
    ids = Identifiers()


@order.show
def show_order(access: Access) -> Values:
    """List the testimonials that come first, and a page of the others."""
    project, widget = access.project, find_named(access.project)
    after = request.args.get("after")
    first, shown = drafts.list_first(project, widget)
    others, cursor = drafts.list_others(project, first, after, PAGE_SIZE)
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
    """Move, add or remove a testimonial in the draft's order, or arrange all of them."""
    project, widget = access.project, find_named(access.project)
    if added := pressed["add"]:
        drafts.add_to_order(project, widget, find_testimonial(project, added))
    elif removed := pressed["remove"]:
        drafts.remove_from_order(project, widget, removed)
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
        hidden = _("Not selected for this widget") if row.is_visible else _("Not approved")
    # Sorts the others: pinned first, then by time.
    rank = f"{int(row.is_pinned)} {row.submitted_at.isoformat()}" if row.is_visible else ""
    return describe_testimonial(row) | {"hidden": hidden, "rank": rank}
