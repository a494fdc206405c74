"""The gallery of looks, with which a widget begins; and the name and the end of a saved one."""

from datetime import datetime
from itertools import count

from flask import url_for

from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.http.blueprints import widget_pages
from testimonials.core.http.errors import NotFound
from testimonials.core.http.fields import Choice, OneLine
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import ENGLISH, translate
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.urls import face_url, wall_url
from testimonials.core.images.colors import draw_face
from testimonials.dashboard.framework import (
    Done,
    ProjectPage,
    UndoForm,
    Values,
    keep_removed,
    take_removed,
)
from testimonials.dashboard.widget_controls import SMALL
from testimonials.dashboard.widget_editor import (
    answer_draft,
    editor,
    find_named,
    in_effect,
    name_in_address,
)
from testimonials.projects.access import Access
from testimonials.projects.brand import find_brand
from testimonials.projects.models import Project
from testimonials.projects.projects import make_slug
from testimonials.projects.widget_design import trim_design
from testimonials.testimonials.samples import PEOPLE, ROLE, SAMPLES
from testimonials.widget import drafts, settings
from testimonials.widget.events import WIDGET_DELETED, WIDGET_RENAMED, WIDGET_SAVED
from testimonials.widget.models import SavedWidget
from testimonials.widget.script import choose_draw
from testimonials.widget.words import write_words

# What a saved widget has beside its name.
SETTINGS = ("config", "design", "draft")
SHAPES = ("badge", "people", "badge-corner", "popup", "strip", "single")
# As many cards as a look shows here, and to how many samples fill up the owner's own words.
CARDS, LEAST = 9, 6

gallery = ProjectPage(widget_pages, "widget/look", "widget/gallery.html")
beginning = ProjectPage(widget_pages, "widget/new", "widget/gallery.html")
naming = ProjectPage(widget_pages, "widgets/<widget_name>", "widget/name.html")


class LookForm(FormSchema):
    """A look, or something small; without one it is that which the widget began with."""

    look = Choice(*drafts.LOOKS, *SHAPES)


@gallery.show
def show_looks(access: Access) -> Values:
    return _describe_gallery(access.project) | {"is_new": False}


@gallery.save(LookForm)
def put_on_look(access: Access, look: str | None) -> Done:
    """Put a look on the draft, or the one back on with which it began."""
    widget = find_named(access.project)
    draft = drafts.read_draft(widget)
    look = look or drafts.find_nearest_look(draft["config"], draft["design"])
    config, design = drafts.apply_look(
        look, draft["config"], draft["design"], drafts.theme_before(widget)
    )
    drafts.change_draft(widget, draft | {"config": config, "design": design}, step=f"look {look}")
    return answer_draft(access.project, widget)


@beginning.show
def show_beginning(access: Access) -> Values:
    return _describe_gallery(access.project) | {"is_new": True}


@beginning.save(LookForm)
def add_widget(access: Access, look: str | None) -> Done:
    """Save another widget: what the one of the address shows, in this look."""
    project, source = access.project, find_named(access.project)
    published = drafts.read_published(source)
    look = look or drafts.find_nearest_look(published["config"], published["design"])
    widget = settings.save_widget(project, _choose_name(project, look), name_in_address())
    config, design = drafts.apply_look(
        look, widget.config, widget.design, drafts.theme_before(source)
    )
    # Nobody shows it yet, so there is nothing to publish.
    widget.config, widget.design = config, trim_design(design)
    record(WIDGET_SAVED, project, widget=widget.name)
    return Done(to=url_for(".show_editor", widget=widget.name))


def _choose_name(project: Project, look: str) -> str:
    """Return the name of its look; a number follows where that is taken."""
    title = drafts.LOOKS[look].title if look in drafts.LOOKS else SMALL[look]
    name = make_slug(translate(title)) or look
    taken = {each.name for each in settings.list_saved(project)}
    names = (f"{name}-{number}" if number > 1 else name for number in count(1))
    return next(each for each in names if each not in taken)


@naming.show
def show_name(access: Access, widget_name: str) -> Values:
    return {"name": _find_saved(access.project, widget_name).name}


@naming.save({"name": OneLine(200, load_default="")})
def change_name(access: Access, widget_name: str, name: str) -> Done:
    widget = _find_saved(access.project, widget_name)
    settings.rename_widget(access.project, widget, name)
    here = url_for(".show_editor", widget=widget.name)
    if widget.name == widget_name:
        return Done(to=here)
    record(WIDGET_RENAMED, access.project, old=widget_name, widget=widget.name)
    return Done(_("Renamed %(old)s to %(name)s", old=widget_name, name=widget.name), to=here)


@naming.save(at="/delete")
def remove_widget(access: Access, widget_name: str) -> Done:
    project, widget = access.project, _find_saved(access.project, widget_name)
    values = {name: getattr(widget, name) for name in ("name", *SETTINGS)}
    undo = keep_removed(project, "widget", since=widget.created_at.isoformat(), **values)
    settings.delete_widget(project, widget)
    record(WIDGET_DELETED, project, widget=widget.name)
    text = _("Deleted the widget %(name)s", name=widget.name)
    return Done(text, url_for(".show_editor"), undo=undo, undo_url=url_for(".bring_widget_back"))


@editor.save(UndoForm, at="/deleted/undo")
def bring_widget_back(access: Access, undo: str) -> Done:
    values = take_removed(access.project, "widget", undo)
    widget = settings.save_widget(access.project, values["name"])
    for name in SETTINGS:
        setattr(widget, name, values[name])
    widget.created_at = datetime.fromisoformat(values["since"])
    record(WIDGET_SAVED, access.project, widget=widget.name)
    return Done(_("It’s back"), to=url_for(".show_editor", widget=widget.name))


def _find_saved(project: Project, name: str) -> SavedWidget:
    widget = settings.find_widget(project, name)
    if not isinstance(widget, SavedWidget):
        raise NotFound
    return widget


def _describe_gallery(project: Project) -> Values:
    """Describe each look as it would be of the widget that the address names."""
    widget = find_named(project)
    draft = drafts.read_draft(widget)
    design = draft["design"] | {"shape": ""}
    shown = settings.WidgetSettings("", *in_effect(project, draft | {"design": design}))
    feed = settings.describe_feed(project, None, limit=CARDS, settings=shown)
    feed["items"] = _fill_up(project, feed["items"])
    # Even where nothing is pinned, a look says what it does with the first one.
    feed["items"][0]["pinned"] = True
    header = feed.get("header") or settings.describe_header(project)
    if not header["count"]:
        header = _count(feed["items"])
    feed |= {
        "badge": {"url": wall_url(project.slug, project.own_host)},
        "cta": None,
        "lang": ENGLISH.code,
        "signs": ENGLISH.signs,
        "next": None,
        # A paused project's widget shows nothing, but can be chosen.
        "project": feed["project"] | {"active": True},
        "words": write_words(design["labels"], header, name=project.name),
    }
    return {
        "looks": drafts.LOOKS,
        "small": {name: SMALL[name] for name in SHAPES},
        "chosen": draft["design"]["shape"] or drafts.find_nearest_look(draft["config"], design),
        "feed": feed,
        # No look has an average on top that the widget lacks; what is small is little else.
        "drawn": {
            **{name: _draw(project, widget, feed, name) for name in drafts.LOOKS},
            **{
                name: _draw(project, widget, feed | {"header": header}, name) | {"header": header}
                for name in SHAPES
            },
        },
        "ground": project.brand.get("read", {}).get("ground", ""),
        "widget": name_in_address() or None,
    }


def _draw(project: Project, widget: drafts.Widget, feed: Values, look: str) -> Values:
    draft = drafts.read_draft(widget)
    config, design = drafts.apply_look(
        look, draft["config"], draft["design"], drafts.theme_before(widget)
    )
    config, design = in_effect(project, {"config": config, "design": design, "cta": {}})
    drawn = settings.describe_look(config, design) | ({"shape": look} if look in SHAPES else {})
    return drawn | {"draw": choose_draw(feed | drawn | {"total": len(feed["items"])})}


def _fill_up(project: Project, items: list[Values]) -> list[Values]:
    names, brand = {item["authorName"] for item in items}, find_brand(project)
    samples = [each for each in SAMPLES[brand.trade] if PEOPLE[each.who] not in names]
    return items + [
        {
            "id": each.who,
            "authorName": PEOPLE[each.who],
            "face": draw_face(PEOPLE[each.who]),
            "authorRole": ROLE,
            "authorAvatar": face_url(each.who),
            "text": each.text.replace("{name}", brand.name),
            "rating": each.rating,
            "submittedAt": clock.iso(clock.now()),
            "isSample": True,
        }
        for each in samples[: max(0, LEAST - len(items))]
    ]


def _count(items: list[Values]) -> Values:
    """Return what a header would say of these cards."""
    ratings = [item["rating"] for item in items if item.get("rating")]
    faces = [{"face": each["face"], "avatar": each.get("authorAvatar")} for each in items]
    average = round(sum(ratings) / len(ratings), 1) if ratings else 0
    count = {"count": len(ratings), "people": len(items), "all": True}
    return count | {"average": average, "faces": faces[: settings.MAX_FACES]}
