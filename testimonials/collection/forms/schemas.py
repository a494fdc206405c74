"""Shapes of forms, and of the page's design, in the API."""

from typing import Any

from marshmallow import fields

from testimonials.core.text_rules import TAG_LENGTH, TAG_PATTERN
from testimonials.core.web.fields import StrictSchema, Switch, Text, Time
from testimonials.projects.configuration import defaults, page_design
from testimonials.projects.configuration.questions import (
    QuestionSchema,
    prompt_list,
    question_list,
    question_translations,
    word_translations,
)

NAME_LENGTH, TITLE_LENGTH = 60, 80
FORM_NAME = Text(
    NAME_LENGTH,
    one_line=True,
    blank=False,
    description="In its address, `/<slug>/f/<name>`: becomes lower case with dashes.",
)


class WholeSchema(StrictSchema):
    """What the API answers of something that bodies may send in part."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        field_obj.required = True


class WholeQuestionSchema(WholeSchema, QuestionSchema):
    """A question of the owner's own, as the API shows it."""

    translations = question_translations("WholeQuestion")


class WholeStepSchema(WholeSchema, page_design.StepSchema):
    """A step after sending, as the API shows it."""


class WholeFocusSchema(WholeSchema, page_design.FocusSchema):
    """The point of the cover that always shows, in percent from the left and the top."""


class WholePageDesignSchema(WholeSchema, page_design.PageDesignSchema):
    """All of the page's design, as the API shows it."""

    coverFocus = fields.Nested(WholeFocusSchema)
    questions = question_list(WholeQuestionSchema)
    steps = page_design.step_list(WholeStepSchema)
    translations = page_design.page_translations("WholePage")
    coverUrl = fields.String(allow_none=True, metadata={"description": "Changed by `PUT cover`."})
    portraitUrl = fields.String(
        allow_none=True,
        metadata={"description": "The face beside the signature; changed by `PUT portrait`."},
    )


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


class FormSchema(WholeSchema, FormDesignSchema):
    """A form of a project."""

    name = fields.String()
    title = fields.String()
    isOpen = fields.Boolean(attribute="is_open")
    url = fields.String()
    questions = question_list(WholeQuestionSchema)
    translations = word_translations("WholeForm")
    createdAt = Time(attribute="created_at")
    updatedAt = Time(attribute="updated_at")
