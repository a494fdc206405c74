"""What the templates of the page editor show."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask import g, render_template, request, url_for

from testimonials.core import clock
from testimonials.core.pictures.images import MEGABYTE, PAGE_PICTURES
from testimonials.core.urls import collection_page_url, image_url
from testimonials.core.web.languages import gettext_noop
from testimonials.dashboard.forms import Errors
from testimonials.dashboard.guards import build_shell
from testimonials.dashboard.notices import read_notice
from testimonials.dashboard.page.items import Item, new_id
from testimonials.dashboard.page.look_form import LIMITS, flatten, judge
from testimonials.dashboard.page.saving import LISTS, PageEdit
from testimonials.projects.access import Access
from testimonials.projects.configuration import page_design, questions
from testimonials.projects.models import Project
from testimonials.settings.current import current_settings
from testimonials.testimonials.answers import count_answers


@dataclass(frozen=True)
class Tab:
    """A tab of the page editor, and what its preview shows."""

    label: str
    endpoint: str
    view: str


TABS = {
    "look": Tab(gettext_noop("Look"), "page_editor.show_page_editor", "first"),
    "questions": Tab(gettext_noop("Questions"), "page_editor.show_questions", "opened"),
    "after": Tab(gettext_noop("After sending"), "page_editor.show_after", "thanks"),
}
MOST = {
    "prompts": questions.MAX_PROMPTS,
    "questions": questions.MAX_QUESTIONS,
    "choices": questions.CHOICES_RANGE[1],
    "steps": page_design.MAX_STEPS,
}
VIEWS = {
    "first": gettext_noop("First look"),
    "opened": gettext_noop("Opened"),
    "thanks": gettext_noop("Thanks"),
}
QUESTION_KINDS = {
    "text": gettext_noop("Text"),
    "choice": gettext_noop("Choice"),
    "scale": gettext_noop("Scale"),
    "consent": gettext_noop("Consent"),
}
STEP_KINDS = {"link": gettext_noop("Link"), "code": gettext_noop("Code")}
# How long people take for the stars, their words and their name, and for a question, in seconds.
BASE_SECONDS, SECONDS = 35, {"text": 15, "choice": 5, "scale": 5, "consent": 5}


def render_tab(access: Access, name: str, edit: PageEdit | None = None) -> str:
    """Return the page of a tab; `edit` is a form that was refused."""
    project, edit = access.project, edit or PageEdit(name)
    design = project.whole_page_design
    settings = flatten(project)
    lists = {each: edit.shown.get(each, design[each]) for each in LISTS}
    return render_template(
        f"dashboard/page/{name}.html",
        tab=name,
        tabs=TABS,
        views=VIEWS,
        view=TABS[name].view,
        preview_url=url_for("page_editor.show_page_preview"),
        **describe_frame(access),
        values=settings | edit.shown,
        before=settings | {each: design[each] for each in LISTS},
        lists=lists,
        errors=edit.errors,
        targets=find_targets(edit.errors),
        open_ids=find_open([*lists["questions"], *lists["steps"]], edit.errors),
        until={
            each["id"]: describe_day(each["until"]) for each in lists["steps"] if each.get("until")
        },
        contrast=judge(project),
        pictures=describe_pictures(project),
        **describe_questions(project, lists["questions"]),
        steps=_add_new(lists["steps"], "step", {"kind": "link", "title": "", "text": ""}),
        seconds_of_recording=current_settings().recording_seconds,
    )


def describe_frame(access: Access) -> dict[str, Any]:
    """Return what the pages of the editor and of the forms have in common."""
    project = access.project
    g.has_preview = True
    return {
        "shell": build_shell(access, "page"),
        "notice": read_notice(),
        "limits": LIMITS,
        "most": MOST,
        "question_kinds": QUESTION_KINDS,
        "step_kinds": STEP_KINDS,
        "page_url": collection_page_url(project.slug, project.own_host),
        "is_active": project.is_active,
    }


def find_targets(errors: Errors) -> dict[str, str]:
    """Return the ids of the fields that errors are about."""
    switches = {"showConfetti", "video", "voice", "needsCaptions"}
    ids = {"theme": "theme-light", "prompts": "prompt-1"}
    return {
        name: ids.get(name) or (name if "-" in name or name in switches else f"editor-{name}")
        for name in errors
    }


def find_open(items: list[Item], errors: Errors) -> set[str]:
    """Return the ids of the cards that are open: the one the URL names, and those with errors."""
    wrong = {name.partition("-")[0] for name in errors}
    return {each["id"] for each in items if each["id"] in wrong} | {request.args.get("open", "")}


def describe_day(day: str | None) -> str:
    """Return a day as people read it; nothing for none, and for what is refused as one."""
    try:
        return clock.day(datetime.fromisoformat(day or ""))
    except ValueError:
        return ""


def describe_questions(project: Project, asked: list[Item]) -> dict[str, Any]:
    """Return the questions as their cards show them, and how long the page takes to fill in."""
    counts = count_answers(project, [each["id"] for each in asked])
    seconds = BASE_SECONDS + sum(SECONDS.get(each["kind"], 0) for each in asked)
    return {
        "questions": _add_new(asked, "question", {"kind": "text", "text": ""}),
        "counts": counts,
        "seconds": seconds,
    }


def _add_new(items: list[Item], name: str, empty: Item) -> list[Item]:
    """Return the items, with an empty one where somebody without a script wants to add one."""
    if request.args.get("add") != name:
        return items
    return [*items, {"id": new_id(), "is_new": True} | empty]


def describe_pictures(project: Project) -> dict[str, dict[str, Any]]:
    ids = {"logo": project.logo_id, "cover": project.cover_id, "portrait": project.portrait_id}
    return {
        name: {"url": image_url(id), "megabytes": PAGE_PICTURES[name].max_bytes // MEGABYTE}
        for name, id in ids.items()
    }
