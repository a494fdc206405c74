"""The collection page's design: what it shows and asks beyond its specified settings.

Only what differs from the defaults is stored, in `Project.page_design`. A form has words and
questions of its own (`collection/forms`).
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from marshmallow import ValidationError, fields, post_load, validates_schema

from testimonials.core import clock
from testimonials.core.text_rules import URL_PATTERN
from testimonials.core.web.fields import (
    Choice,
    Count,
    RuleField,
    StrictSchema,
    Switch,
    Text,
    WebUrl,
)
from testimonials.core.web.languages import LANGUAGES
from testimonials.projects.configuration.questions import (
    ItemId,
    Items,
    prompt_list,
    question_list,
    word_translations,
)

MAX_STEPS = 3
SIGNATURE_LENGTH = 80
STEP_TITLE_LENGTH, STEP_TEXT_LENGTH, STEP_URL_LENGTH, CODE_LENGTH = 80, 200, 500, 40
STEP_KINDS = ("link", "code")

DEFAULTS: dict[str, Any] = {
    "language": "",
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

PAGE_LANGUAGE = Choice(
    *("", *(language.code for language in LANGUAGES)),
    description="Of the public pages, unless a link has `?lang=`; empty: each visitor’s own.",
)


class Day(RuleField, fields.String):
    """A day, kept as text."""

    def __init__(self, *, description: str = "", **options: Any) -> None:
        super().__init__(
            rule="Must be a day such as 2026-12-31.",
            metadata={"format": "date", "description": description},
            **options,
        )

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        try:
            is_day = date.fromisoformat(value).isoformat() == value
        except (TypeError, ValueError):
            is_day = False
        if not is_day:
            raise self.make_error("invalid")
        return value


class StepUrl(WebUrl):
    """An http(s) URL, or none."""

    def __init__(self, max_length: int, **options: Any) -> None:
        super().__init__(max_length, **options)
        self.metadata = {**self.metadata, "pattern": f"^$|{URL_PATTERN}"}

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        return "" if value == "" else super()._deserialize(value, attr, data, **kwargs)


class StepSchema(StrictSchema):
    """What the page offers after sending, the same to everybody whatever they said."""

    id = ItemId()
    kind = Choice(*STEP_KINDS, required=True)
    title = Text(STEP_TITLE_LENGTH, one_line=True, blank=False, required=True)
    text = Text(STEP_TEXT_LENGTH, load_default="")
    url = StepUrl(STEP_URL_LENGTH, load_default="", description="Of a `link`.")
    copies = Switch(
        load_default=False, description="Of a `link`: their words are copied, to post there too."
    )
    code = Text(CODE_LENGTH, one_line=True, load_default="", description="Of a `code`.")
    until = Day(
        allow_none=True, load_default=None, description="The last day on which it is offered."
    )

    @validates_schema
    def _require_own(self, data: dict[str, Any], **_: Any) -> None:
        needed = {"link": "url", "code": "code"}.get(data.get("kind", ""))
        if needed and not data.get(needed):
            raise ValidationError({needed: [f"A {data['kind']} needs this."]})

    @post_load
    def _drop_others(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        is_link = data["kind"] == "link"
        return data | ({"code": ""} if is_link else {"url": "", "copies": False})


class FocusSchema(StrictSchema):
    """The point of the cover that always shows, in percent from the left and the top."""

    x = Count(0, 100, required=True)
    y = Count(0, 100, required=True)


def step_list(schema: type[StepSchema] = StepSchema) -> Items:
    return Items(schema, MAX_STEPS, "title", "What is offered after sending, in order.")


def page_translations(name: str) -> Any:
    """Return the field for the page's words in other languages."""
    return word_translations(name, signature=Text(SIGNATURE_LENGTH, one_line=True))


class PageDesignSchema(StrictSchema):
    """The collection page's design; a field left out stays, a list is replaced as a whole."""

    language = PAGE_LANGUAGE
    coverFocus = fields.Nested(FocusSchema)
    signature = Text(
        SIGNATURE_LENGTH, one_line=True, description="Who asks, such as “Mira, who bakes it”."
    )
    prompts = prompt_list()
    questions = question_list()
    video = Switch(description="Visitors may record a video.")
    voice = Switch(description="Visitors may record their voice.")
    needsCaptions = Switch(description="A recording without words or captions can't be approved.")
    steps = step_list()
    translations = page_translations("Page")


def read_page_design(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the design with every key, from what `trim_page_design` left of it."""
    return DEFAULTS | dict(stored)


def trim_page_design(design: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a design differs from the defaults, as it is stored."""
    return {name: value for name, value in design.items() if value != DEFAULTS[name]}


def list_open_steps(steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the steps that are still offered."""
    today = clock.now().date().isoformat()
    return [step for step in steps if not step["until"] or step["until"] >= today]


def offers_code(design: Mapping[str, Any]) -> bool:
    """Tell whether everybody who writes now gets a code, which the page and the card say."""
    steps = list_open_steps(read_page_design(design)["steps"])
    return any(step["kind"] == "code" for step in steps)
