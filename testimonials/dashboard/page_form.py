"""What the editor of the collection page sends, and how it is saved."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

from marshmallow import ValidationError, fields, missing
from werkzeug.datastructures import MultiDict

from testimonials.core.faults import FAULTS
from testimonials.core.http.fields import Count, StrictSchema, Switch, Text
from testimonials.core.http.form_errors import Errors
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop
from testimonials.dashboard.page_lists import (
    Form,
    Item,
    arrange,
    merge,
    read_prompts,
    read_questions,
    read_steps,
)
from testimonials.projects import defaults, page_design
from testimonials.projects.models import Project
from testimonials.projects.page_design import CHOICES_RANGE, PageDesignSchema
from testimonials.projects.projects import Website
from testimonials.projects.schemas import PageConfigUpdateSchema

# The form of the page's settings: those of the API by their names there, flattened.

ASKED = ("rating", "role", "company", "avatar", "email")
DESIGN = ("signature", "video", "voice", "needsCaptions")
FOCUS = {"focusX": "x", "focusY": "y"}
LIMITS = {
    "website": defaults.WEBSITE_LENGTH,
    "headline": defaults.HEADLINE_LENGTH,
    "description": defaults.DESCRIPTION_LENGTH,
    "thankYouMessage": defaults.THANK_YOU_LENGTH,
    "signature": page_design.SIGNATURE_LENGTH,
    "prompt": page_design.PROMPT_LENGTH,
    "question": page_design.QUESTION_LENGTH,
    "choice": page_design.CHOICE_LENGTH,
    "end": page_design.END_LENGTH,
    "stepTitle": page_design.STEP_TITLE_LENGTH,
    "stepText": page_design.STEP_TEXT_LENGTH,
    "code": page_design.CODE_LENGTH,
}


# The editors' forms. Each sends the settings it showed along as ``before``.
#
# That way only what somebody changed is written, not what a colleague changed meanwhile.


class EditorForm(FormSchema):
    """A text may be left empty; every other setting has one of its values."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        if isinstance(field_obj, Text):
            field_obj.load_default = ""
        elif field_obj.load_default is missing:
            field_obj.required = True
        super().on_bind_field(field_name, field_obj)


@dataclass(frozen=True)
class Edit:
    """An editor's form: what to show again, what differs from ``before``, and the errors."""

    shown: dict[str, Any]
    changes: dict[str, Any]
    errors: dict[str, list[str]]


def read_edit(schema: EditorForm, form: MultiDict[str, str]) -> Edit:
    sent = schema.read(form, is_partial=True)
    before = read_before(form.get("before", ""))
    changes = {name: value for name, value in sent.values.items() if value != before.get(name)}
    return Edit(sent.typed | sent.values, changes, sent.errors)


def read_before(text: str) -> dict[str, Any]:
    before = None
    with suppress(*FAULTS):
        before = json.loads(text or "{}")
    return before if isinstance(before, dict) else {}


class PageForm(EditorForm, PageConfigUpdateSchema):
    """The settings of the page."""

    class Meta(EditorForm.Meta, PageConfigUpdateSchema.Meta):
        include: ClassVar[dict[str, Any]] = {
            **{f"ask-{name}": Switch() for name in ASKED},
            # Whether a face and a name stand beside the description; off takes the name away.
            "isPerson": Switch(),
            "signature": Text(page_design.SIGNATURE_LENGTH, one_line=True),
            **{name: Switch() for name in ("video", "voice", "needsCaptions")},
            **{name: Count(0, 100) for name in FOCUS},
        }
        # The others are the brand's.
        exclude = ("collectFields", "businessName", "buttonColor", "buttonTextColor")

    website = Website(defaults.WEBSITE_LENGTH, one_line=True)


def flatten(project: Project) -> dict[str, Any]:
    """Return the settings of the form as they are."""
    design = project.whole_page_design
    config = dict(project.page_config)
    config |= {f"ask-{name}": config["collectFields"][name] for name in ASKED}
    config |= {name: design[name] for name in DESIGN}
    config |= {name: design["coverFocus"][axis] for name, axis in FOCUS.items()}
    config["isPerson"] = bool(design["signature"])
    return {name: config[name] for name in PageForm().fields}


def split(project: Project, changes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return changed settings as `update_page_config` and `update_page_design` take them."""
    asked = {name: changes.pop(f"ask-{name}") for name in ASKED if f"ask-{name}" in changes}
    if not changes.pop("isPerson", True):
        changes["signature"] = ""
    moved = {axis: changes.pop(name) for name, axis in FOCUS.items() if name in changes}
    design = {name: changes.pop(name) for name in DESIGN if name in changes}
    if moved:
        design["coverFocus"] = project.whole_page_design["coverFocus"] | moved
    return changes | ({"collectFields": asked} if asked else {}), design


# What a form of the page editor changes.

Lists = dict[str, Any]

LISTS = ("prompts", "questions", "steps")
DONE = {
    "up": gettext_noop("Moved up"),
    "down": gettext_noop("Moved down"),
    "delete": "Deleted. Its answers are kept.",
}


@dataclass
class PageEdit:
    """A form of the page editor: what it changes, what to show again, and its errors."""

    config: dict[str, Any] = field(default_factory=dict)
    design: dict[str, Any] = field(default_factory=dict)
    # For `change_form`.
    values: dict[str, Any] = field(default_factory=dict)
    shown: dict[str, Any] = field(default_factory=dict)
    errors: Errors = field(default_factory=dict)
    # Where to go on, for who has no script: what to add, and a place in the page.
    adds: str = ""
    place: str = ""
    notice: str = gettext_noop("Saved")

    def read_lists(self, project: Project) -> dict[str, Any]:
        """Return the lists that the form has, as they are stored now."""
        design = project.whole_page_design
        return {name: design[name] for name in LISTS if name in self.design}


def read_page_edit(project: Project, form: Form) -> PageEdit:
    """Read the form: settings by their names, and the lists that its ``lists`` names."""
    edit, sent = PageEdit(), read_edit(PageForm(), form)
    edit.shown, edit.errors = sent.shown, dict(sent.errors)
    edit.config, edit.design = split(project, sent.changes)
    lists = read_lists(project.whole_page_design, form)
    edit.shown |= lists
    loaded, errors = check_lists(PageDesignSchema(), lists)
    edit.design |= loaded
    edit.errors |= errors
    go_on(edit, form.get("do", ""))
    return edit


def read_lists(stored: Lists, form: Form) -> Lists:
    """Return the lists of a form, with what was changed meanwhile and is stored."""
    before = read_before(form.get("before", ""))
    action = form.get("do", "")
    readers = {"questions": read_questions, "steps": read_steps}
    lists: Lists = {}
    for name in dict.fromkeys(form.get("lists", "").split()):
        if name == "prompts":
            sent = read_prompts(form)
            lists[name] = stored[name] if sent == before.get(name) else sent
        elif name in readers:
            was = _list_items(before.get(name))
            items = readers[name](form, [each["id"] for each in was])
            lists[name] = merge(stored[name], was, arrange(items, action))
    return lists


def _list_items(before: object) -> list[Item]:
    """Return the items that a form showed, of what it says it did."""
    items = before if isinstance(before, list) else []
    return [each for each in items if isinstance(each, dict) and isinstance(each.get("id"), str)]


def check_lists(schema: StrictSchema, lists: Lists) -> tuple[Lists, Errors]:
    """Return the lists as they are stored, and what is wrong with them, by the ids of fields."""
    errors: Errors = {}
    for question in lists.get("questions", []):
        errors |= _find_question_gaps(question)
    for step in lists.get("steps", []):
        errors |= _find_step_gaps(step)
    if errors:
        return {}, errors
    try:
        return schema.check(lists), {}
    except ValidationError as error:
        return {}, name_fields(lists, error.messages_dict)


def name_fields(lists: Lists, errors: Mapping[str, list[str]]) -> Errors:
    """Return errors by the ids of fields for errors by paths, such as ``questions[1].text``."""
    return {_name_field(lists, path): texts for path, texts in errors.items()}


def _find_question_gaps(question: Item) -> Errors:
    errors, id = {}, question["id"]
    if not question["text"]:
        errors[f"{id}-text"] = [_("Write the question.")]
    if question["kind"] == "choice" and len(question["choices"]) < CHOICES_RANGE[0]:
        errors[f"{id}-choices"] = [_("Write two different answers or more.")]
    return errors


def _find_step_gaps(step: Item) -> Errors:
    errors, id = {}, step["id"]
    if not step["title"]:
        errors[f"{id}-title"] = [_("Write what it is.")]
    if step["kind"] == "link" and not step["url"]:
        errors[f"{id}-url"] = [_("Write the address, such as https://example.com.")]
    if step["kind"] == "code" and not step["code"]:
        errors[f"{id}-code"] = [_("Write the code.")]
    return errors


def _name_field(lists: Lists, path: str) -> str:
    name, _mark, rest = path.partition("[")
    number, _mark, part = rest.partition("].")
    if not number.isdigit() or name == "prompts":
        return name if name != "prompts" or not rest else f"prompt-{int(rest.rstrip(']')) + 1}"
    return f"{lists[name][int(number)]['id']}-{part.partition('[')[0] or 'text'}"


def go_on(edit: PageEdit, action: str) -> None:
    """Note where the page continues after a button that adds, moves or deletes."""
    verb, _mark, id = action.partition(" ")
    if verb in DONE:
        edit.notice = DONE[verb]
    if verb in ("up", "down"):
        edit.place = f"item-{id}"
    if verb == "add":
        edit.adds, edit.place = id, "item-new"
