"""What the pages of forms read and show."""

from typing import Any

from flask import url_for

from testimonials.collection.forms.schemas import (
    NAME_LENGTH,
    TITLE_LENGTH,
    FormDesignSchema,
)
from testimonials.collection.forms.services import read_form_design
from testimonials.collection.models import CollectionForm
from testimonials.core.text_rules import TAG_LENGTH
from testimonials.core.urls import form_url
from testimonials.core.web.fields import Text
from testimonials.core.web.forms import FormSchema
from testimonials.dashboard.editors.forms import EditorForm, read_edit
from testimonials.dashboard.page.items import Form
from testimonials.dashboard.page.saving import PageEdit, check_lists, go_on, read_lists
from testimonials.dashboard.page.view import (
    TABS,
    VIEWS,
    describe_frame,
    describe_questions,
    find_open,
    find_targets,
)
from testimonials.projects.access import Access
from testimonials.projects.configuration import defaults

WORDS = ("headline", "description", "tag")
LISTS = ("prompts", "questions")


class NameForm(FormSchema):
    """What a new form is called."""

    title = Text(TITLE_LENGTH, one_line=True, required=True)


class RenameForm(NameForm):
    """What a form is called, and its place in its address."""

    address = Text(NAME_LENGTH, one_line=True, required=True, attribute="name")


class WordsForm(EditorForm):
    """A form's own words and its tag; an empty word is the page's."""

    headline = Text(defaults.HEADLINE_LENGTH, one_line=True)
    description = Text(defaults.DESCRIPTION_LENGTH)
    tag = Text(TAG_LENGTH, one_line=True)


def read_form_edit(form: CollectionForm, sent: Form) -> PageEdit:
    """Read the words and lists of a form's page; `values` are for `change_form`."""
    edit, typed = PageEdit("form"), read_edit(WordsForm(), sent)
    lists = read_lists(read_form_design(form), sent)
    loaded, errors = check_lists(FormDesignSchema(), lists)
    edit.values, edit.errors = typed.changes | loaded, typed.errors | errors
    edit.shown = typed.shown | lists
    go_on(edit, sent.get("do", ""))
    return edit


def pick(form: CollectionForm) -> dict[str, Any]:
    """Return what a form's page shows of it."""
    design = read_form_design(form)
    return {
        "config": {name: design[name] for name in WORDS},
        "lists": {name: design[name] for name in LISTS},
    }


def describe_editor(access: Access, form: CollectionForm, edit: PageEdit) -> dict[str, Any]:
    """Return what the page of a form shows."""
    project, stored = access.project, pick(form)
    lists = {name: edit.shown.get(name, stored["lists"][name]) for name in LISTS}
    page = project.page_config | project.whole_page_design
    return describe_frame(access) | {
        "form": {"name": form.name, "title": form.title, "is_open": form.is_open},
        "page_words": {name: page[name] for name in ("headline", "description", "prompts")},
        "tabs": TABS,
        "views": {name: label for name, label in VIEWS.items() if name != "thanks"},
        "view": "opened",
        "preview_url": url_for("page_editor.show_page_preview", form=form.name),
        "page_url": form_url(project.slug, form.name, project.own_host),
        "values": stored["config"] | edit.shown,
        "before": stored["config"] | stored["lists"],
        "lists": lists,
        "errors": edit.errors,
        "targets": find_targets(edit.errors),
        "open_ids": find_open(lists["questions"], edit.errors),
        **describe_questions(project, lists["questions"]),
    }
