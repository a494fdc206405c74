"""Before and after the editor: the looks with which a widget begins; putting it on a site."""

from datetime import datetime
from itertools import count
from typing import Any

from flask import jsonify, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape

from testimonials.auth.email_addresses import Email
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.db.identifiers import hash_secret
from testimonials.core.extensions import limiter
from testimonials.core.http import urls
from testimonials.core.http.blueprints import widget_pages
from testimonials.core.http.errors import NotFound
from testimonials.core.http.fields import Choice, OneLine
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import ENGLISH, translate
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.urls import face_url, wall_url
from testimonials.core.images.colors import draw_face
from testimonials.core.settings.current import current_settings
from testimonials.dashboard.formatting import describe_age, highlight
from testimonials.dashboard.framework import (
    Done,
    ProjectPage,
    UndoForm,
    Values,
    keep_removed,
    require_role,
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
from testimonials.projects.access import Access, Role
from testimonials.projects.brand import find_brand
from testimonials.projects.defaults import MADE_WITH
from testimonials.projects.defaults import SITES as KINDS
from testimonials.projects.events import PROJECT_CHANGED, STEPS_MAILED
from testimonials.projects.models import Project
from testimonials.projects.projects import make_slug
from testimonials.projects.widget_design import trim_design
from testimonials.testimonials.samples import PEOPLE, ROLE, SAMPLES
from testimonials.widget import drafts, embed, settings
from testimonials.widget.container import Selection, add_query
from testimonials.widget.embed import SITES, STEPS, find_made_with, send_steps_mail
from testimonials.widget.events import WIDGET_DELETED, WIDGET_RENAMED, WIDGET_SAVED
from testimonials.widget.formats import IN_NEWSLETTER, choose_items, render_newsletter
from testimonials.widget.models import SavedWidget
from testimonials.widget.script import choose_draw
from testimonials.widget.settings import find_settings, find_widget
from testimonials.widget.sightings import find_newest_sighting
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


MAILS_PER_ACCOUNT = Limit("steps-mail-account", 20, "from one account")
MAILS_PER_EMAIL = Limit("steps-mail-email", 3, "for one e-mail address")
# Each language's name, and the template of its code in widget/embed/.
LANGUAGES = {
    "html": "HTML",
    "react": "React",
    "vue": "Vue",
    "next": "Next.js",
    "astro": "Astro",
    "hugo": "Hugo",
}

steps_page = ProjectPage(widget_pages, "widget/add-to-site", "widget/add_to_site.html")


@steps_page.show
def show_steps(access: Access) -> Values:
    """Show the steps of the widget that ``?widget=`` names, by default of the project's own."""
    project, name = access.project, request.args.get("widget", "")
    find_widget(project, name)
    selection = Selection(widget=name)
    return {
        "widget": name,
        "sites": SITES,
        "made_with": find_made_with(project),
        "steps": [(each, _write_steps(steps)) for each, steps in STEPS.items()],
        "languages": LANGUAGES,
        "codes": _write_codes(project, selection),
        "places": _describe_places(project, selection),
        "lines": _describe_lines(project, selection),
        "sighting": describe_sighting(project),
        "may_mail": bool(current_settings().smtp_url),
    }


@steps_page.save({"made_with": Choice(*KINDS, required=True)}, at="/made-with")
def keep_made_with(access: Access, made_with: str) -> Done:
    """Remember what the site is made with, for the next time."""
    project = access.project
    project.dashboard_config = project.dashboard_config | {MADE_WITH: made_with}
    record(PROJECT_CHANGED, project)
    return Done(to=_here())


def _count_mail(access: Access, email: str) -> None:
    """Count a mail to this address, before anything is locked."""
    find_widget(access.project, request.args.get("widget", ""))
    limiter.count(MAILS_PER_ACCOUNT, access.user.account_id)
    limiter.count(MAILS_PER_EMAIL, hash_secret(email))


@steps_page.save({"email": Email(is_lasting=False, required=True)}, at="/mail", prepare=_count_mail)
def mail_steps(access: Access, email: str, prepared: None) -> Done:
    project, name = access.project, request.args.get("widget", "")
    find_widget(project, name)
    send_steps_mail(project, name, find_made_with(project), email, access.user.email)
    record(STEPS_MAILED, project, email=email)
    return Done(_("The steps go to %(email)s. An answer comes to you.", email=email), to=_here())


@widget_pages.get("/dashboard/projects/<project_id>/widget/add-to-site/seen")
@require_role(Role.ADMIN)
def get_sighting(access: Access) -> ResponseReturnValue:
    """Tell the script that waits for it where the widget was seen."""
    return jsonify(describe_sighting(access.project))


def _here() -> str:
    return f"{request.path.rpartition('/')[0]}?{request.query_string.decode()}".rstrip("?")


def describe_sighting(project: Project) -> dict[str, Any] | None:
    """Return where and when the widget was last seen, None if nowhere."""
    found = find_newest_sighting(project.id)
    if found is None:
        return None
    origin, time = found
    label = describe_age(time)
    is_date = label[0].isdigit() and not label.endswith("ago")
    label = _("on %(day)s", day=label) if is_date else label.lower()
    host = origin.partition("://")[2]
    said = _("Seen %(time)s on %(host)s", time=label, host=host)
    return {"url": origin, "host": host, "label": label, "time": time, "said": said}


def _write_steps(steps: dict[str, Any]) -> dict[str, Any]:
    first, choose, last, note = map(translate, steps["texts"])
    name = Markup("<strong>{}</strong>").format(steps["name"])
    return {"lines": [first, escape(choose) % {"name": name}, last], "note": note}


def _write_codes(project: Project, selection: Selection) -> dict[str, Markup]:
    snippet = embed.build_snippet(project, selection)
    code = {
        "container": snippet["container"],
        "script": snippet["script"],
        "script_url": snippet["widgetUrl"],
        "attributes": embed.container_attributes(project, selection),
        "height": embed.reserve_space(project, selection),
        "page": urls.widget_page_url(project.id),
        "fragment": add_query(urls.fragment_url(project.id), selection.query),
    }
    return {
        each: highlight(render_template(f"dashboard/widget/embed/{each}.txt", code=code))
        for each in LANGUAGES
    }


def _describe_places(project: Project, selection: Selection) -> dict[str, str]:
    """Return what places get that take no script."""
    values = {"project": project.id} | selection.query
    shape = find_settings(project, selection.widget).design["shape"]
    height = embed.frame_height(selection.with_shape(shape))
    address = add_query(urls.widget_page_url(project.id), selection.query)
    return {
        "fragment": add_query(urls.fragment_url(project.id), selection.query),
        "feed": add_query(urls.json_feed_url(project.id), selection.query),
        "newsletter": render_newsletter(choose_items(project, selection.query, IN_NEWSLETTER)),
        "newsletter_url": add_query(urls.newsletter_url(project.id), selection.query),
        "address": address,
        "frame": f'<iframe src="{escape(address)}" title="Testimonials" loading="lazy" '
        f'width="100%" height="{height}" frameborder="0"></iframe>',
        # Of the plugin in packages/wordpress.
        "shortcode": "[testimonials_widget {}]".format(
            " ".join(f'{name}="{value}"' for name, value in values.items())
        ),
        "element": _write_element(project, selection),
    }


def _write_element(project: Project, selection: Selection) -> str:
    """Return the element of the package in packages/testimonials-widget."""
    source = urls.script_url(query=embed.script_query(project, selection))
    attributes = {"project": project.id, "src": source} | selection.query
    if height := embed.reserve_space(project, selection):
        attributes["style"] = f"display:block;min-height:{height};--tm-reserve:{height}"
    written = Markup(" ").join(
        Markup('{}="{}"').format(name, value) for name, value in attributes.items()
    )
    link = Markup('<a href="{}">Read our testimonials</a>').format(urls.widget_page_url(project.id))
    return f"<testimonials-widget {written}>{link}</testimonials-widget>"


def _describe_lines(project: Project, selection: Selection) -> dict[str, str]:
    """Return the lines that a website's Content-Security-Policy needs, and the pinned script.

    The rule is for its style sheet, if the policy forbids style attributes.
    """
    names = ("script-src", "connect-src", "img-src")
    height = embed.reserve_space(project, selection)
    return {
        "policy": "\n".join(f"{name} {urls.origin_of(urls.base_url())};" for name in names),
        "rule": f'[data-testimonials-project="{project.id}"] '
        f"{{ min-height: {height}; --tm-reserve: {height} }}",
        "pinned": embed.build_checked_script(),
    }
