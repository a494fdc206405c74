"""The editor of the collection page and of the project's further forms, in every language.

``?form=`` names a form; without it the project's own page is edited. The script sends what has
changed, and gets what is stored.
"""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask import Response, g, make_response, render_template, request, url_for
from marshmallow import ValidationError
from werkzeug.datastructures import MultiDict

from testimonials.collection import forms
from testimonials.collection.context import make_context
from testimonials.collection.events import FORM_ADDED, FORM_CHANGED, FORM_DELETED
from testimonials.collection.forms import change_form, read_form_design, update_page_design
from testimonials.collection.models import CollectionForm
from testimonials.collection.page_data import describe_form, describe_thanks
from testimonials.collection.schemas import NAME_LENGTH, TITLE_LENGTH, FormDesignSchema
from testimonials.collection.submission import Submission, consent_sentence
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import collect
from testimonials.core.http.errors import Errors, ValidationFailed, is_from_script
from testimonials.core.http.fields import OneLine, Switch
from testimonials.core.http.forms import Choices, FormSchema, say_what
from testimonials.core.http.i18n import (
    ENGLISH,
    LANGUAGES,
    Language,
    find_language,
    format_figure,
    speaking,
)
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.urls import form_url, image_url
from testimonials.core.images.uploads import MEGABYTE, PAGE_PICTURES, Image, read_image
from testimonials.core.settings.table import current_settings
from testimonials.dashboard.formatting import name_field
from testimonials.dashboard.framework import (
    Done,
    ProjectPage,
    UndoForm,
    Values,
    keep_removed,
    take_removed,
)
from testimonials.dashboard.page_form import (
    LIMITS,
    LISTS,
    PageForm,
    change_page,
    find_changes,
    read_values,
)
from testimonials.projects.access import Access
from testimonials.projects.events import PAGE_CHANGED
from testimonials.projects.models import Project
from testimonials.projects.page_design import ID_LENGTH, PageDesignSchema
from testimonials.projects.settings import set_picture
from testimonials.testimonials.fields import count_answers

PICTURE_BYTES = max(use.max_bytes for use in PAGE_PICTURES.values()) + MEGABYTE

editor = ProjectPage(collect, "collect/page", "page/page.html", nav="collect")
preview = ProjectPage(collect, "collect/page/preview", "")
naming = ProjectPage(collect, "collect/page/name", "page/name.html", nav="collect")


class NameForm(FormSchema):
    """The title of a form, and its name in the URL, which a new one gets from its title."""

    title = OneLine(TITLE_LENGTH, required=True)
    name = OneLine(NAME_LENGTH, load_default="")


@editor.show
def show_page_editor(access: Access) -> Values:
    """Show the page's rows, from top to bottom; ``?open=`` opens one."""
    project, form = access.project, find_named(access.project)
    values = read_values(project, form)
    return {
        **describe_frame(project, form),
        **_describe_cards(project, values),
        "values": values,
        "rows": describe_rows(project, form),
        "opened": request.args.get("open", ""),
        "page_words": project.page_config,
        "pictures": _describe_pictures(project),
        "has_own_look": project.page_config["buttonColor"]
        or (project.logo_id and project.brand_logo_id),
        "consents": _list_consents(project, values),
        "seconds_of_recording": current_settings().recording_seconds,
    }


def _list_consents(project: Project, values: Values) -> list[str]:
    """Return what authors agree to for text and for each kind of recording."""
    kinds = ["written", *(kind for kind in ("video", "voice") if values.get(kind))]
    return [consent_sentence(project, kind) for kind in kinds]


def _describe_cards(project: Project, values: Values) -> Values:
    """Return what the cards of questions and steps show in addition to their fields."""
    questions, steps = values["questions"], values.get("steps", [])
    return {
        "counts": count_answers(project, [question["id"] for question in questions]),
        "until": {
            step["id"]: clock.day(datetime.fromisoformat(step["until"]))
            for step in steps
            if step["until"]
        },
        "new_ids": {name: new_identifier()[-ID_LENGTH:] for name in LISTS},
    }


@editor.save(PageForm)
def save_page(access: Access, before: Values | None = None, do: str = "", **sent: Any) -> Done:
    """Store what differs from what the form showed."""
    project, form = access.project, find_named(access.project)
    updated_at = project.updated_at
    change_page(project, form, find_changes(read_values(project, form), before or {}, sent, do))
    if project.updated_at != updated_at:
        note_change(project, form)
    verb, name, id = [*do.split(" "), "", ""][:3]
    here = editor_url(form, open=name)
    return answer_page(
        project, form, to=here, anchor=f"item-{id}" if verb in ("up", "down") else "", sent=sent
    )


@editor.save({"open": Switch(load_default=False)}, at="/forms/<form_name>/state")
def set_open(access: Access, form_name: str, open: bool) -> Done:
    form = forms.find_form(access.project, form_name)
    forms.change_form(access.project, form, {"is_open": open})
    record(FORM_CHANGED, access.project, form=form.title)
    return Done(_("Saved"), to=editor_url(form))


def _read_picture(access: Access, picture: str) -> Image:
    file = request.files.get(picture)
    return read_image(file.stream if file else io.BytesIO(), PAGE_PICTURES[picture])


@editor.save(at="/<any(cover, portrait):picture>", prepare=_read_picture, takes=PICTURE_BYTES)
def upload_picture(access: Access, picture: str, prepared: Image) -> Done:
    return _set(access.project, picture, prepared)


@editor.save(at="/<any(cover, portrait):picture>/remove")
def remove_picture(access: Access, picture: str) -> Done:
    project = access.project
    undo = keep_removed(project, picture, image=getattr(project, f"{picture}_id"))
    _set(project, picture, None)
    back = url_for(".bring_picture_back", picture=picture)
    return Done(_("Removed"), _picture_url(picture), undo=undo, undo_url=back)


@editor.save(UndoForm, at="/<any(cover, portrait):picture>/undo")
def bring_picture_back(access: Access, picture: str, undo: str) -> Done:
    image = take_removed(access.project, picture, undo)["image"]
    _set(access.project, picture, image and db.session.get(Image, image))
    return Done(_("Restored"), _picture_url(picture))


def _picture_url(picture: str) -> str:
    return editor_url(None, open="cover" if picture == "cover" else "headline")


def _set(project: Project, picture: str, image: Image | None) -> Done:
    set_picture(project, picture, image)
    record(PAGE_CHANGED, project)
    done = answer_page(project, None, to=editor_url(None), anchor=f"editor-{picture}")
    done.shown["url"] = image_url(image.id if image else None)
    return done


@preview.show
def show_page_preview(access: Access) -> Response:
    """Show the page, or its thank-you page, for the frame in the editor."""
    project, view = access.project, request.args.get("view", "")
    form = find_named(project)
    g.is_preview = True
    with speaking(request.args.get("lang") or project.whole_page_design["language"]):
        if view == "thanks":
            shown = describe_thanks(project, has_steps=True) | {"is_preview": True}
            return make_response(render_template("collection/thanks.html", **shown))
        shown = describe_form(make_context(project, form), Submission())
        shown |= {"is_preview": True, "is_first_look": view == "first"}
        return make_response(render_template("collection/page.html", **shown))


@naming.show
def show_name(access: Access) -> Values:
    form = find_named(access.project)
    typed = {"title": form.title, "name": form.name} if form else {}
    return {"form": form, "typed": typed}


@naming.save(NameForm)
def save_name(access: Access, title: str, name: str) -> Done:
    """Add a form, or rename it."""
    project, form = access.project, find_named(access.project)
    if form is None:
        form = forms.create_form(project, {"title": title})
        record(FORM_ADDED, project, form=form.title)
        return Done(_("Added"), to=editor_url(form))
    if forms.change_form(project, form, {"title": title, "name": name}):
        record(FORM_CHANGED, project, form=form.title)
    return Done(_("Saved"), to=editor_url(form))


@editor.save(at="/forms/<form_name>/delete")
def remove_form(access: Access, form_name: str) -> Done:
    project, form = access.project, forms.find_form(access.project, form_name)
    values = {name: getattr(form, name) for name in ("name", "title", "is_open")} | form.design
    undo = keep_removed(project, "page", since=form.created_at.isoformat(), **values)
    forms.delete_form(project, form)
    record(FORM_DELETED, project, form=form.title)
    text = say_what(_("Deleted"), form.title)
    return Done(text, editor_url(None), undo=undo, undo_url=url_for(".bring_form_back"))


@editor.save(UndoForm, at="/deleted/undo")
def bring_form_back(access: Access, undo: str) -> Done:
    values = take_removed(access.project, "page", undo)
    form = forms.create_form(access.project, values)
    form.created_at = datetime.fromisoformat(values["since"])
    record(FORM_ADDED, access.project, form=form.title)
    return Done(_("Restored"), to=editor_url(form))


def name_in_address() -> str:
    return request.args.get("form", "")


def find_named(project: Project) -> CollectionForm | None:
    """Return the form of ``?form=``, or None for the project's own; raise `NotFound`."""
    return forms.find_shown_form(project, name_in_address())


def editor_url(form: CollectionForm | None, *, open: str = "") -> str:
    """Return the URL of a form's editor, with a row to open."""
    name = form.name if form else None
    return url_for("dashboard.collect.show_page_editor", form=name, open=open or None)


def note_change(project: Project, form: CollectionForm | None) -> None:
    if form is None:
        record(PAGE_CHANGED, project)
    else:
        record(FORM_CHANGED, project, form=form.title)


def answer_page(
    project: Project,
    form: CollectionForm | None,
    *,
    to: str,
    anchor: str = "",
    sent: Values | None = None,
) -> Done:
    """Redirect to the editor, or return the stored values to its script."""
    if not is_from_script():
        return Done(_("Saved"), to=to, anchor=anchor)
    # Lists that weren't sent are left out, since they may have cards that the form doesn't show.
    values = {
        name: value
        for name, value in read_values(project, form).items()
        if name not in LISTS or name in (sent or ())
    }
    return Done(shown={"values": values, "rows": describe_rows(project, form)})


def describe_frame(project: Project, form: CollectionForm | None) -> Values:
    g.has_preview = True
    return {
        "form": form,
        "forms": forms.list_forms(project),
        "limits": LIMITS,
        "is_active": project.is_active,
        "page_url": form_url(project.slug, form.name if form else None, project.own_host),
    }


def describe_rows(project: Project, form: CollectionForm | None) -> dict[str, str]:
    """Return the values that closed rows show."""
    values = read_values(project, form)
    design = forms.read_form_design(form) if form else project.whole_page_design
    rows = {
        "headline": values["headline"] or project.page_config["headline"],
        "text": format_figure(len(values["prompts"])) if values["prompts"] else _("None"),
        "questions": _(
            "%(count)s of %(limit)s", count=len(values["questions"]), limit=LIMITS["questions"]
        )
        if values["questions"]
        else _("None"),
        "words": _join(*(each.name for each in LANGUAGES if each.code in _find_translated(design)))
        or _("None"),
    }
    if form is not None:
        return rows | {"tag": values["tag"] or _("None")}
    optional = ["avatar", "role", "company", "email"]
    consents = [one["text"] for one in values["questions"] if one["kind"] == "consent"]
    return rows | {
        "cover": _("A picture") if project.cover_id else _("None"),
        "record": _join(
            _("Video") if values["video"] else "", _("Voice") if values["voice"] else ""
        )
        or _("Off"),
        # The name is always asked for.
        "person": _(
            "%(count)s of %(limit)s",
            count=1 + sum(values[f"ask-{name}"] for name in optional),
            limit=1 + len(optional),
        ),
        "agree": _join(_("Website and print"), *consents),
        "thankYouMessage": values["thankYouMessage"],
        "steps": _join(*(step["title"] for step in values["steps"])) or _("None"),
    }


def _join(*texts: str) -> str:
    return ", ".join(filter(None, texts))


def _find_translated(design: Values) -> set[str]:
    """Return the codes of the languages into which the owner has translated a page."""
    parts = [design["translations"], *(one["translations"] for one in design["questions"])]
    return set().union(*parts)


def _describe_pictures(project: Project) -> dict[str, dict[str, Any]]:
    ids = {"cover": project.cover_id, "portrait": project.portrait_id}
    return {
        name: {"url": image_url(id), "megabytes": PAGE_PICTURES[name].max_bytes // MEGABYTE}
        for name, id in ids.items()
    }


# The owner's translations of a page; ``?lang=`` names the language.

words_page = ProjectPage(collect, "collect/page/words", "page/words.html", nav="collect")


class Translations(Choices):
    """All texts of the form, by the names of their fields."""

    def collect(self, form: MultiDict[str, str], name: str) -> Any:
        return {field: text.replace("\r\n", "\n").strip() for field, text in form.items()}

    def _deserialize(self, value: Any, attr: Any, data: Any, **_: Any) -> Any:
        return value


@dataclass(frozen=True)
class Line:
    """One of the owner's texts, on the page or in a question; `place` is its index in a list."""

    part: Mapping[str, Any]
    name: str
    label: str
    original: str
    limit: int
    place: int | None = None

    @property
    def field(self) -> str:
        return name_line(self.part, self.name, self.place)

    def translate(self, language: str) -> str:
        text: Any = self.part["translations"].get(language, {}).get(self.name, "")
        if self.place is None:
            return str(text)
        return text[self.place] if self.place < len(text) else ""


def name_line(part: Mapping[str, Any], name: str, place: object = None) -> str:
    return "-".join(str(one) for one in (part.get("id"), name, place) if one is not None)


@words_page.show
def show_words(access: Access) -> Values:
    project, form, language = access.project, find_named(access.project), choose_language()
    design = _read_design(project, form)
    codes = _find_translated(design)
    return describe_frame(project, form) | {
        "language": language,
        "languages": [
            {"code": one.code, "name": one.name, "has": one.code in codes} for one in LANGUAGES
        ],
        "lines": list(list_lines(design)),
    }


@words_page.save({"words": Translations(load_default=dict)})
def save_words(access: Access, words: dict[str, str]) -> Done:
    project, form, language = access.project, find_named(access.project), choose_language()
    changes = put_words(_read_design(project, form), language.code, words)
    try:
        (FormDesignSchema() if form else PageDesignSchema()).check(changes)
    except ValidationError as error:
        raise ValidationFailed.of(_name_errors(changes, error.messages_dict)) from None
    if change_form(project, form, changes) if form else update_page_design(project, changes):
        note_change(project, form)
    here = url_for(".show_words", form=name_in_address() or None, lang=language.code)
    return Done(_("Saved"), to=here)


def choose_language() -> Language:
    """Return the language of ``?lang=``, by default the first that isn't English."""
    others = (language for language in LANGUAGES if language != ENGLISH)
    return find_language(request.args.get("lang", "")) or next(others)


def _read_design(project: Project, form: CollectionForm | None) -> Values:
    if form is not None:
        return read_form_design(form)
    return project.page_config | project.whole_page_design


def list_lines(design: Values) -> Iterator[Line]:
    """Yield the texts that aren't empty, in the order of the page."""
    for name in ("headline", "description", "signature"):
        if text := design.get(name):
            yield Line(design, name, name_field(name), text, LIMITS[name])
    for place, text in enumerate(design["prompts"]):
        yield Line(design, "prompts", _("Guiding question"), text, LIMITS["prompt"], place)
    for question in design["questions"]:
        yield Line(question, "text", _("Question"), question["text"], LIMITS["question"])
        for place, text in enumerate(question["choices"]):
            yield Line(question, "choices", _("Answer"), text, LIMITS["choice"], place)
        for end in ("low", "high"):
            if question[end]:
                yield Line(question, end, name_field(end), question[end], LIMITS["end"])


def put_words(design: Values, language: str, sent: Mapping[str, str]) -> Values:
    """Return `translations` and `questions` with the texts sent for this language.

    The script leaves out what would be refused.
    """
    parts: dict[str | None, dict[str, Any]] = {}
    for line in list_lines(design):
        words = parts.setdefault(line.part.get("id"), {})
        text = sent.get(line.field, line.translate(language))
        if line.place is None:
            words[line.name] = text
        else:
            words.setdefault(line.name, []).append(text)

    def put(part: Values) -> Values:
        words = {name: text for name, text in parts.get(part.get("id"), {}).items() if any(text)}
        others = {code: text for code, text in part["translations"].items() if code != language}
        return others | ({language: words} if words else {})

    questions = [question | {"translations": put(question)} for question in design["questions"]]
    return {"translations": put(design), "questions": questions}


def _name_errors(changes: Values, errors: Mapping[str, Sequence[str]]) -> Errors:
    """Return errors in the result of `put_words` by field instead of by path."""
    named: Errors = {}
    for path, texts in errors.items():
        question = re.match(r"questions\[(\d+)\]\.", path)
        match = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", path.rpartition(".")[2])
        name, place = match.groups() if match else (path, None)
        part = changes["questions"][int(question[1])] if question else {}
        named[name_line(part, name, place)] = list(texts)
    return named
