"""The gallery of looks; and adding, renaming and deleting saved widgets."""

from datetime import datetime
from itertools import count

from flask import url_for

from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.http.blueprints import widget_pages
from testimonials.core.http.errors import NotFound
from testimonials.core.http.fields import Choice, OneLine
from testimonials.core.http.forms import FormSchema, say_what
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

# The columns of a saved widget besides its name.
SETTINGS = ("config", "design", "draft")
SHAPES = ("badge", "people", "badge-corner", "popup", "strip", "single")
# A look shows at most this many cards; samples are added up to the minimum.
MAX_CARDS, MIN_CARDS = 9, 6

gallery = ProjectPage(widget_pages, "widget/look", "widget/gallery.html")
beginning = ProjectPage(widget_pages, "widget/new", "widget/gallery.html")
naming = ProjectPage(widget_pages, "widgets/<widget_name>", "widget/name.html")


class LookForm(FormSchema):
    """A look or shape; by default the one nearest to the widget."""

    look = Choice(*drafts.LOOKS, *SHAPES)


@gallery.show
def show_looks(access: Access) -> Values:
    return _describe_gallery(access.project) | {"is_new": False}


@gallery.save(LookForm)
def put_on_look(access: Access, look: str | None) -> Done:
    """Apply a look to the draft, or reset the draft to the nearest one."""
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
    """Save a copy of the widget in ``?widget=``, in this look."""
    project, source = access.project, find_named(access.project)
    published = drafts.read_published(source)
    look = look or drafts.find_nearest_look(published["config"], published["design"])
    widget = settings.save_widget(project, _choose_name(project, look), name_in_address())
    config, design = drafts.apply_look(
        look, widget.config, widget.design, drafts.theme_before(source)
    )
    # Published at once, since no website shows it yet.
    widget.config, widget.design = config, trim_design(design)
    record(WIDGET_SAVED, project, widget=widget.name)
    return Done(to=url_for(".show_editor", widget=widget.name))


def _choose_name(project: Project, look: str) -> str:
    """Return the name of the look, with a number if it is taken."""
    title = drafts.LOOKS[look].title if look in drafts.LOOKS else SMALL[look]
    base = make_slug(translate(title)) or look
    taken = {widget.name for widget in settings.list_saved(project)}
    names = (f"{base}-{number}" if number > 1 else base for number in count(1))
    return next(name for name in names if name not in taken)


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
    return Done(_("Saved"), to=here)


@naming.save(at="/delete")
def remove_widget(access: Access, widget_name: str) -> Done:
    project, widget = access.project, _find_saved(access.project, widget_name)
    values = {name: getattr(widget, name) for name in ("name", *SETTINGS)}
    undo = keep_removed(project, "widget", since=widget.created_at.isoformat(), **values)
    settings.delete_widget(project, widget)
    record(WIDGET_DELETED, project, widget=widget.name)
    text, undo_url = say_what(_("Deleted"), widget.name), url_for(".bring_widget_back")
    return Done(text, url_for(".show_editor"), undo=undo, undo_url=undo_url)


@editor.save(UndoForm, at="/deleted/undo")
def bring_widget_back(access: Access, undo: str) -> Done:
    values = take_removed(access.project, "widget", undo)
    widget = settings.save_widget(access.project, values["name"])
    for name in SETTINGS:
        setattr(widget, name, values[name])
    widget.created_at = datetime.fromisoformat(values["since"])
    record(WIDGET_SAVED, access.project, widget=widget.name)
    return Done(_("Restored"), to=url_for(".show_editor", widget=widget.name))


def _find_saved(project: Project, name: str) -> SavedWidget:
    widget = settings.find_widget(project, name)
    if not isinstance(widget, SavedWidget):
        raise NotFound
    return widget


def _describe_gallery(project: Project) -> Values:
    """Describe each look of the widget in ``?widget=``."""
    widget = find_named(project)
    draft = drafts.read_draft(widget)
    design = draft["design"] | {"shape": ""}
    shown = settings.WidgetSettings("", *in_effect(project, draft | {"design": design}))
    feed = settings.describe_feed(project, None, limit=MAX_CARDS, settings=shown)
    feed["items"] = _fill_up(project, feed["items"])
    # So that each look shows how it draws a pinned card.
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
        # Looks are drawn for paused projects too.
        "project": feed["project"] | {"active": True},
        "words": write_words(design["labels"], header, name=project.name),
    }
    return {
        "looks": drafts.LOOKS,
        "small": {name: SMALL[name] for name in SHAPES},
        "chosen": draft["design"]["shape"] or drafts.find_nearest_look(draft["config"], design),
        "feed": feed,
        # Looks have a header only if the widget has one; shapes consist of little else.
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
    samples = [sample for sample in SAMPLES[brand.trade] if PEOPLE[sample.who] not in names]
    return items + [
        {
            "id": sample.who,
            "authorName": PEOPLE[sample.who],
            "face": draw_face(PEOPLE[sample.who]),
            "authorRole": ROLE,
            "authorAvatar": face_url(sample.who),
            "text": sample.text.replace("{name}", brand.name),
            "rating": sample.rating,
            "submittedAt": clock.iso(clock.now()),
            "isSample": True,
        }
        for sample in samples[: max(0, MIN_CARDS - len(items))]
    ]


def _count(items: list[Values]) -> Values:
    """Return the values of a header for these cards."""
    ratings = [item["rating"] for item in items if item.get("rating")]
    faces = [{"face": item["face"], "avatar": item.get("authorAvatar")} for item in items]
    average = round(sum(ratings) / len(ratings), 1) if ratings else 0
    count = {"count": len(ratings), "people": len(items), "all": True}
    return count | {"average": average, "faces": faces[: settings.MAX_FACES]}
