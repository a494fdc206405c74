"""What each kind of change of the collection page and its forms does, as in `changes`."""

from collections.abc import Callable

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.collection.forms.schemas import FormSchema, WholePageDesignSchema
from testimonials.collection.forms.services import (
    change_form,
    create_form,
    delete_form,
    describe_form,
    describe_page_design,
    find_form,
    find_named,
    update_page_design,
)
from testimonials.core.web.errors import ValidationFailed
from testimonials.projects.changes import set_picture, update_page_config
from testimonials.projects.models import Project
from testimonials.projects.slugs import make_slug
from testimonials.proposals.changes import Outcome, Values, finish, publish_picture

_DESIGN = WholePageDesignSchema()
_FORM = FormSchema()


def change_page(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    was = project.updated_at
    update_page_config(project, values)
    return finish(project, EventType.PAGE_CHANGED, is_changed=project.updated_at != was)


def change_design(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    is_changed = update_page_design(project, values)
    finish(project, EventType.PAGE_CHANGED, is_changed=is_changed)
    return Outcome(_DESIGN.dump(describe_page_design(project)), {})


def change_logo(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    return _change_picture(project, "logo", values)


def change_cover(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    return _change_picture(project, "cover", values)


def change_portrait(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    return _change_picture(project, "portrait", values)


def save_form(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    """Change the form with this name, or add it."""
    changes = {name: value for name, value in values.items() if name not in ("name", "new_name")}
    form = find_named(project, make_slug(values["name"]))
    if form is None:
        if "title" not in values:
            raise ValidationFailed.of({"title": ["A new form needs a title."]})
        form = create_form(project, values)
        record_project_event(EventType.FORM_ADDED, project, form=form.name)
    elif change_form(project, form, changes | _rename(values)):
        record_project_event(EventType.FORM_CHANGED, project, form=form.name)
    return Outcome(_FORM.dump(describe_form(project, form)), {"form": form.name})


def remove_form(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    form = find_form(project, values["name"])
    data = _FORM.dump(describe_form(project, form))
    delete_form(project, form)
    record_project_event(EventType.FORM_DELETED, project, form=form.name)
    return Outcome(data, {"form": form.name})


def read_page(project: Project, _target: str | None, values: Values) -> Values:
    now = {"businessName": project.business_name} | project.page_config
    asked = project.page_config["collectFields"]
    fields = {name: asked[name] for name in values.get("collectFields", {})}
    return now | {"collectFields": fields}


def read_design(project: Project, _target: str | None, _values: Values) -> Values:
    return project.whole_page_design


def read_picture(name: str) -> Callable[[Project, str | None, Values], Values]:
    """Return what reads the `logo`, the `cover` or the `portrait`."""
    return lambda project, _target, _values: {"imageId": getattr(project, f"{name}_id")}


def read_form(project: Project, _target: str | None, values: Values) -> Values:
    """Return the form with this name as it is; nothing if there is none."""
    form = find_named(project, make_slug(values["name"]))
    if form is None:
        return {}
    described: Values = _FORM.dump(describe_form(project, form))
    return described | {"name": values["name"], "newName": form.name}


def _change_picture(project: Project, name: str, values: Values) -> Outcome:
    is_changed = values["image_id"] != getattr(project, f"{name}_id")
    if is_changed:
        set_picture(project, name, publish_picture(project, values["image_id"]))
    return finish(project, EventType.PAGE_CHANGED, is_changed=is_changed)


def _rename(values: Values) -> Values:
    return {"name": values["new_name"]} if "new_name" in values else {}
