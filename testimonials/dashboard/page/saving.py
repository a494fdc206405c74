"""What a form of the page editor changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from marshmallow import ValidationError

from testimonials.core.web.fields import StrictSchema
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import gettext_noop
from testimonials.dashboard.editors.forms import read_before, read_edit
from testimonials.dashboard.forms import Errors
from testimonials.dashboard.page.items import (
    Form,
    Item,
    arrange,
    merge,
    read_prompts,
    read_questions,
    read_steps,
)
from testimonials.dashboard.page.look_form import PageForm, split
from testimonials.projects.configuration.page_design import PageDesignSchema
from testimonials.projects.configuration.questions import CHOICES_RANGE
from testimonials.projects.models import Project

Lists = dict[str, Any]

TABS = ("look", "questions", "after")
LISTS = ("prompts", "questions", "steps")
DONE = {
    "up": gettext_noop("Moved up"),
    "down": gettext_noop("Moved down"),
    "delete": "Deleted. Its answers are kept.",
}


@dataclass
class PageEdit:
    """A form of the page editor: what it changes, what to show again, and its errors."""

    tab: str
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
    """Read a tab's form: settings by their names, and the lists that its ``lists`` names."""
    tab = form.get("tab", "")
    edit = PageEdit(tab if tab in TABS else TABS[0])
    sent = read_edit(PageForm(), form)
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
    """Note where the page goes on after a button that adds, moves or deletes."""
    verb, _mark, id = action.partition(" ")
    if verb in DONE:
        edit.notice = DONE[verb]
    if verb in ("up", "down"):
        edit.place = f"item-{id}"
    if verb == "add":
        edit.adds, edit.place = id, "item-new"
