"""Shapes of forms, and of the page's design, in the API."""

from typing import Any

from marshmallow import fields

from testimonials.core.text_rules import TAG_LENGTH, TAG_PATTERN
from testimonials.core.web.fields import StrictSchema, Switch, Text, Time
from testimonials.projects.configuration import defaults, page_design
from testimonials.projects.configuration.questions import (
    prompt_list,
    question_list,
    word_translations,
)

NAME_LENGTH, TITLE_LENGTH = 60, 80
FORM_NAME = Text(
    NAME_LENGTH,
    one_line=True,
    blank=False,
    description="In its address, `/<slug>/f/<name>`: becomes lower case with dashes.",
)


class PageDesignSchema(page_design.PageDesignSchema):
    """All of the page's design, as the API shows it."""

    coverUrl = fields.String(
        required=True, allow_none=True, metadata={"description": "Changed by `PUT cover`."}
    )
    portraitUrl = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "The face beside the signature; changed by `PUT portrait`."},
    )

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        field_obj.required = True


class FormDesignSchema(StrictSchema):
    """What a form has of its own; empty words and prompts are the page's."""

    headline = Text(defaults.HEADLINE_LENGTH, one_line=True)
    description = Text(defaults.DESCRIPTION_LENGTH)
    prompts = prompt_list()
    questions = question_list()
    tag = Text(
        TAG_LENGTH,
        one_line=True,
        description="What is sent by this form gets this tag.",
        metadata={"pattern": f"^$|{TAG_PATTERN}"},
    )
    translations = word_translations("Form")


class FormUpdateSchema(FormDesignSchema):
    """The body of PATCH forms; only the fields that are sent change."""

    name = FORM_NAME
    title = Text(TITLE_LENGTH, one_line=True, blank=False, description="What you call it.")
    isOpen = Switch(attribute="is_open", description="false: it takes nothing now.")


class FormCreateSchema(FormUpdateSchema):
    """The body of POST forms."""

    title = Text(
        TITLE_LENGTH,
        one_line=True,
        blank=False,
        required=True,
        description="What you call it; names its address if `name` doesn't.",
    )


class FormSchema(FormDesignSchema):
    """A form of a project."""

    name = fields.String(required=True)
    title = fields.String(required=True)
    isOpen = fields.Boolean(attribute="is_open", required=True)
    url = fields.String(required=True)
    createdAt = Time(attribute="created_at", required=True)
    updatedAt = Time(attribute="updated_at", required=True)

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        field_obj.required = True
