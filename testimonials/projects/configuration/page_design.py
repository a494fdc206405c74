"""The collection page's design: the settings beyond the specified ones.

Only what differs from the defaults is stored, in `Project.page_design` and, the first part of it,
in a form's own design.
"""

from collections.abc import Mapping
from typing import Any

from marshmallow import fields, validate

from testimonials.core.web.fields import Choice, Count, StrictSchema, Switch, Text, WebUrl
from testimonials.core.web.languages import LANGUAGES
from testimonials.projects.configuration.defaults import (
    DESCRIPTION_LENGTH,
    HEADLINE_LENGTH,
    WEBSITE_LENGTH,
)

MAX_PROMPTS, MAX_QUESTIONS, MAX_STEPS = 4, 5, 3
MIN_CHOICES, MAX_CHOICES = 2, 8
SIGNATURE_LENGTH, PROMPT_LENGTH, QUESTION_LENGTH = 80, 120, 160
CHOICE_LENGTH, SCALE_END_LENGTH = 60, 40
STEP_TITLE_LENGTH, STEP_TEXT_LENGTH, CODE_LENGTH = 80, 200, 40
QUESTION_KINDS = ("text", "choice", "scale", "consent")
STEP_KINDS = ("link", "code")
CODES = tuple(language.code for language in LANGUAGES)

DEFAULTS: dict[str, Any] = {
    "coverFocus": {"x": 50, "y": 50},
    "signature": "",
    "prompts": [],
    "questions": [],
    "video": False,
    "voice": False,
    "needsCaptions": False,
    "steps": [],
    "translations": {},
}


def _at_most(count: int) -> validate.Length:
    return validate.Length(max=count, error=f"Must be at most {count}.")


def _prompts() -> fields.List[Any]:
    return fields.List(
        Text(PROMPT_LENGTH, one_line=True, blank=False), validate=_at_most(MAX_PROMPTS)
    )


def _choices() -> fields.List[Any]:
    return fields.List(
        Text(CHOICE_LENGTH, one_line=True, blank=False), validate=_at_most(MAX_CHOICES)
    )


def _identifier() -> Text:
    return Text(8, one_line=True, blank=False, required=True, metadata={"pattern": "^[a-z0-9]{8}$"})


class FocusSchema(StrictSchema):
    """The point of the cover that stays in view, in percent of its width and height."""

    x = Count(0, 100, required=True)
    y = Count(0, 100, required=True)


class QuestionWordsSchema(StrictSchema):
    """A question in another language; what is left out is in the owner's own."""

    text = Text(QUESTION_LENGTH, one_line=True)
    choices = _choices()
    low = Text(SCALE_END_LENGTH, one_line=True)
    high = Text(SCALE_END_LENGTH, one_line=True)


class QuestionSchema(StrictSchema):
    """One of the owner's own questions."""

    id = _identifier()
    kind = Choice(*QUESTION_KINDS, required=True)
    text = Text(QUESTION_LENGTH, one_line=True, blank=False, required=True)
    choices = _choices()
    several = Switch()
    isRequired = Switch()
    isPublic = Switch()
    low = Text(SCALE_END_LENGTH, one_line=True)
    high = Text(SCALE_END_LENGTH, one_line=True)
    translations = fields.Dict(
        Choice(*CODES), fields.Nested(QuestionWordsSchema), validate=_at_most(len(CODES))
    )


class StepSchema(StrictSchema):
    """What a visitor may do next, whatever they said: open a link or use a code."""

    id = _identifier()
    kind = Choice(*STEP_KINDS, required=True)
    title = Text(STEP_TITLE_LENGTH, one_line=True, blank=False, required=True)
    text = Text(STEP_TEXT_LENGTH, one_line=True)
    url = WebUrl(WEBSITE_LENGTH)
    copies = Switch()
    code = Text(CODE_LENGTH, one_line=True)
    until = fields.Date(format="%Y-%m-%d", allow_none=True)


class PageWordsSchema(StrictSchema):
    """The page's words in another language; what is left out is in the owner's own."""

    headline = Text(HEADLINE_LENGTH, one_line=True)
    description = Text(DESCRIPTION_LENGTH)
    signature = Text(SIGNATURE_LENGTH, one_line=True)
    prompts = _prompts()


class PageDesignSchema(StrictSchema):
    """The collection page's design; a field left out stays as it is."""

    coverFocus = fields.Nested(FocusSchema)
    signature = Text(SIGNATURE_LENGTH, one_line=True)
    prompts = _prompts()
    questions = fields.List(fields.Nested(QuestionSchema), validate=_at_most(MAX_QUESTIONS))
    video = Switch()
    voice = Switch()
    needsCaptions = Switch()
    steps = fields.List(fields.Nested(StepSchema), validate=_at_most(MAX_STEPS))
    translations = fields.Dict(
        Choice(*CODES), fields.Nested(PageWordsSchema), validate=_at_most(len(CODES))
    )


def read_page_design(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the design with every key, from what `trim_page_design` left of it."""
    return DEFAULTS | dict(stored)


def trim_page_design(design: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a design differs from the defaults, as it is stored."""
    return {name: value for name, value in design.items() if value != DEFAULTS[name]}
