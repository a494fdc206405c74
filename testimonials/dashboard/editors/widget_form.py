"""The widget editor's form: its settings by the names of its fields, and the rules for them."""

import re
from typing import Any

from marshmallow import ValidationError
from werkzeug.datastructures import MultiDict

from testimonials.core.urls import collection_page_url
from testimonials.core.web.errors import ValidationFailed
from testimonials.core.web.fields import Count, Switch
from testimonials.projects.configuration import defaults
from testimonials.projects.configuration.dashboard_config import CTA, CtaSchema
from testimonials.projects.models import Project
from testimonials.projects.schemas import WidgetConfigUpdateSchema
from testimonials.projects.services import complete_website
from testimonials.widget.services import update_widget_config
from testimonials.widget.settings import CTA_LABEL, change_cta

# The button's fields are the dashboard's own; the others are those of the API, with its rules.
CTA_FIELDS = {"ctaLabel": "label", "ctaUrl": "url"}
DEFAULTS: dict[str, Any] = defaults.WIDGET_CONFIG | dict.fromkeys(CTA_FIELDS, "")

_SCHEMA = WidgetConfigUpdateSchema()
_CTA_SCHEMA = CtaSchema()
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,9}")


def flatten_widget(project: Project) -> dict[str, Any]:
    """Return the settings by the names of the fields; a button like everybody's has empty ones."""
    own = project.dashboard_config.get(CTA) or {}
    cta = {field: own.get(name, "") for field, name in CTA_FIELDS.items()}
    return project.widget_config | cta


def describe_default_cta(project: Project) -> dict[str, str]:
    return {"label": CTA_LABEL, "url": collection_page_url(project.slug)}


def read_widget_form(form: MultiDict[str, str]) -> dict[str, Any]:
    """Return the settings in a form as the JSON values that the API's schema takes.

    What is no JSON value of its kind stays text, for the schema to refuse.
    """
    # A switch is sent twice when it is on, because browsers send nothing for one that is off.
    return {
        name: _to_json(_SCHEMA.fields.get(name), form.getlist(name)[-1])
        for name in DEFAULTS
        if name in form
    }


def check_widget(sent: dict[str, Any]) -> dict[str, Any]:
    """Return what `read_widget_form` gave as it will be stored; raise `ValidationFailed`."""
    config = {name: value for name, value in sent.items() if name not in CTA_FIELDS}
    cta = {name: value for name, value in sent.items() if name in CTA_FIELDS}
    errors: dict[str, list[str]] = {}
    checked: dict[str, Any] = {}
    for part, check in ((config, _SCHEMA.check), (cta, _check_cta)):
        try:
            checked |= check(part)
        except ValidationError as error:
            errors |= error.messages_dict
        except ValidationFailed as error:
            errors |= error.errors or {}
    if errors:
        raise ValidationFailed.of(errors)
    return checked


def change_widget(project: Project, wanted: dict[str, Any]) -> None:
    """Change what differs in the locked project: saving the same again is no change."""
    now = flatten_widget(project)
    changes = {name: value for name, value in wanted.items() if now.get(name) != value}
    update_widget_config(
        project, {name: value for name, value in changes.items() if name not in CTA_FIELDS}
    )
    if changes.keys() & CTA_FIELDS.keys():
        values = now | changes
        change_cta(project, {name: values[field] for field, name in CTA_FIELDS.items()})


def _check_cta(sent: dict[str, Any]) -> dict[str, Any]:
    """Check the button's fields; an empty one asks for what every project has."""
    empty = {name: "" for name, value in sent.items() if not value.strip()}
    given = {CTA_FIELDS[name]: value for name, value in sent.items() if name not in empty}
    try:
        if "url" in given:
            given["url"] = complete_website(given["url"].strip())
        checked = _CTA_SCHEMA.check(given)
    except ValidationFailed as error:
        raise ValidationFailed.of({"ctaUrl": (error.errors or {})["website"]}) from None
    except ValidationError as error:
        named = {field: error.messages_dict.get(name) for field, name in CTA_FIELDS.items()}
        raise ValidationFailed.of({name: texts for name, texts in named.items() if texts}) from None
    return empty | {field: checked[name] for field, name in CTA_FIELDS.items() if name in checked}


def _to_json(field: object, text: str) -> Any:
    if isinstance(field, Switch):
        return {"true": True, "false": False}.get(text, text)
    if isinstance(field, Count) and _WHOLE_NUMBER.fullmatch(text.strip()):
        return int(text)
    return text
