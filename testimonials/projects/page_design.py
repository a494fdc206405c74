"""The design of the collection page, its questions and its steps."""

import base64
import hashlib
import re
from collections.abc import Mapping
from datetime import date
from typing import Any, ClassVar

from marshmallow import ValidationError, fields, post_load, validate, validates_schema

from testimonials.core.http.fields import (
    Choice,
    Count,
    NamedParts,
    OneLine,
    Parts,
    RuleField,
    StrictSchema,
    Switch,
    Text,
    WebUrl,
)
from testimonials.core.http.i18n import LANGUAGES
from testimonials.core.text import URL_PATTERN
from testimonials.projects.defaults import DESCRIPTION_LENGTH, HEADLINE_LENGTH

MAX_QUESTIONS, MAX_PROMPTS = 5, 4
CHOICES_RANGE, SCALE_RANGE = (2, 8), (0, 10)
PROMPT_LENGTH, QUESTION_LENGTH, CHOICE_LENGTH, END_LENGTH = 120, 160, 60, 40
KINDS = ("text", "choice", "scale", "consent")
ID_LENGTH = 8
ID_PATTERN = f"[a-z0-9]{{{ID_LENGTH}}}"
_CHOICES = f"Must be {CHOICES_RANGE[0]} to {CHOICES_RANGE[1]} different answers."
_TRANSLATED = "By language code; missing or empty texts are shown in the owner's words."

Question = dict[str, Any]


class ItemId(RuleField, fields.String):
    """The id of a question or step, which stays when its words change."""

    rule = f"Must be {ID_LENGTH} lower-case letters and digits."
    about: ClassVar[Mapping[str, Any]] = {
        "pattern": f"^{ID_PATTERN}$",
        "description": "Stays the same when the words change; derived from them by default.",
    }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str) or not re.fullmatch(ID_PATTERN, value):
            raise self.make_error("invalid")
        return value


class Items(Parts):
    """An ordered list of questions or steps, each with its own id."""

    def __init__(
        self, schema: type[StrictSchema], most: int, named_by: str, description: str
    ) -> None:
        self.named_by = named_by
        super().__init__(
            fields.Nested(schema),
            validate=validate.Length(max=most, error=f"Must be at most {most}."),
            metadata={"description": description},
        )

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        items: Any = super()._deserialize(value, attr, data, **kwargs)
        taken = [item["id"] for item in items if "id" in item]
        if len(set(taken)) < len(taken):
            raise ValidationError("Must not have the same id twice.")
        for item in items:
            if "id" not in item:
                item["id"] = _make_id(f"{item['kind']} {item[self.named_by]}", taken)
                taken.append(item["id"])
        return items


def _make_id(words: str, taken: list[str]) -> str:
    """Return an id derived from the words, so that a question sent again gets the same id."""
    digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).digest()
    text = base64.b32encode(digest).decode().lower().rstrip("=")
    ids = (text[at : at + ID_LENGTH] for at in range(len(text) - ID_LENGTH))
    return next(each for each in ids if each not in taken)


def _lines(length: int, most: int) -> Parts:
    return Parts(
        OneLine(length), validate=validate.Length(max=most, error=f"Must be at most {most}.")
    )


def _by_language(name: str, parts: Mapping[str, fields.Field[Any]], **options: Any) -> Any:
    part: Any = StrictSchema.from_dict(dict(parts), name=f"{name}WordsSchema")
    codes = Choice(*(language.code for language in LANGUAGES))
    about = {"description": _TRANSLATED, "propertyNames": {"enum": list(codes.choices)}}
    return NamedParts(codes, fields.Nested(part), validate=_require_few, metadata=about, **options)


def _require_few(words: Mapping[str, Any]) -> None:
    if len(words) > len(LANGUAGES):
        raise ValidationError(f"Must be at most {len(LANGUAGES)}.")


def question_translations(name: str, **options: Any) -> Any:
    return _by_language(
        name,
        {
            "text": OneLine(QUESTION_LENGTH),
            "choices": _lines(CHOICE_LENGTH, CHOICES_RANGE[1]),
            "low": OneLine(END_LENGTH),
            "high": OneLine(END_LENGTH),
        },
        **options,
    )


class QuestionSchema(StrictSchema):
    id = ItemId()
    kind = Choice(*KINDS, required=True, description="Can't be changed once somebody has answered.")
    text = OneLine(QUESTION_LENGTH, blank=False, required=True)
    choices = Parts(
        OneLine(CHOICE_LENGTH, blank=False),
        validate=validate.Length(max=CHOICES_RANGE[1], error=_CHOICES),
        load_default=list,
        metadata={"description": "For a `choice`: 2 to 8 different ones."},
    )
    several = Switch(
        load_default=False, description="For a `choice`: whether several may be chosen."
    )
    isRequired = Switch(load_default=False)
    isPublic = Switch(
        load_default=False, description="The card shows the answer, except for a `consent`."
    )
    low = OneLine(END_LENGTH, load_default="", description="For a `scale`: what 0 means.")
    high = OneLine(END_LENGTH, load_default="", description="For a `scale`: what 10 means.")
    translations = question_translations("Question", load_default=dict)

    @validates_schema
    def _require_choices(self, data: Question, **_: Any) -> None:
        least, most = CHOICES_RANGE
        choices = data.get("choices", [])
        is_wrong = not least <= len(choices) <= most or len(set(choices)) != len(choices)
        if data.get("kind") == "choice" and is_wrong:
            raise ValidationError({"choices": [_CHOICES]})

    @post_load
    def _drop_others(self, data: Question, **_: Any) -> Question:
        """Reset fields that only other kinds have."""
        unused: Question = {}
        if data["kind"] != "choice":
            unused |= {"choices": [], "several": False}
        if data["kind"] != "scale":
            unused |= {"low": "", "high": ""}
        if data["kind"] == "consent":
            unused["isPublic"] = False
        return data | unused


def prompt_list() -> Parts:
    return Parts(
        OneLine(PROMPT_LENGTH, blank=False),
        validate=validate.Length(max=MAX_PROMPTS, error=f"Must be at most {MAX_PROMPTS}."),
        metadata={"description": "Hints for the text, in order; they aren't sent."},
    )


def question_list(schema: type[QuestionSchema] = QuestionSchema) -> Items:
    return Items(schema, MAX_QUESTIONS, "text", "In order. Answers to those left out are kept.")


def word_translations(name: str, **more: fields.Field[Any]) -> Any:
    return _by_language(
        name,
        {
            "headline": OneLine(HEADLINE_LENGTH),
            "description": Text(DESCRIPTION_LENGTH),
            **more,
            "prompts": _lines(PROMPT_LENGTH, MAX_PROMPTS),
        },
    )


# The collection page's design: what it shows and asks beyond its specified settings. Only what
# differs from the defaults is stored (`Project.page_design`). A form has words and questions of its
# own (`collection/forms`).

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
    "asksInsider": False,
    "steps": [],
    "translations": {},
}

PAGE_LANGUAGE = Choice(
    *("", *(language.code for language in LANGUAGES)),
    description="Of the public pages, without `?lang=` in a link; empty: each visitor’s own.",
)


class Day(RuleField, fields.String):
    """A date, stored as text."""

    rule = "Must be a day such as 2026-12-31."
    about: ClassVar[Mapping[str, Any]] = {"format": "date"}

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        try:
            is_day = date.fromisoformat(value).isoformat() == value
        except (TypeError, ValueError):
            is_day = False
        if not is_day:
            raise self.make_error("invalid")
        return value


class StepUrl(WebUrl):
    """An http(s) URL, or an empty string."""

    def __init__(self, max_length: int, **options: Any) -> None:
        super().__init__(max_length, **options)
        self.metadata = {**self.metadata, "pattern": f"^$|{URL_PATTERN}"}

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        return "" if value == "" else super()._deserialize(value, attr, data, **kwargs)


class StepSchema(StrictSchema):
    """A step that the page offers everybody after sending, whatever they wrote."""

    id = ItemId()
    kind = Choice(*STEP_KINDS, required=True)
    title = OneLine(STEP_TITLE_LENGTH, blank=False, required=True)
    text = Text(STEP_TEXT_LENGTH, load_default="")
    url = StepUrl(STEP_URL_LENGTH, load_default="", description="For a `link`.")
    copies = Switch(
        load_default=False,
        description="For a `link`: copies the visitor's text, to post it there too.",
    )
    code = OneLine(CODE_LENGTH, load_default="", description="For a `code`.")
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
    """The point of the cover that is always visible, in percent from the left and the top."""

    x = Count(0, 100, required=True)
    y = Count(0, 100, required=True)


def step_list(schema: type[StepSchema] = StepSchema) -> Items:
    return Items(schema, MAX_STEPS, "title", "What is offered after sending, in order.")


def page_translations(name: str) -> Any:
    return word_translations(name, signature=OneLine(SIGNATURE_LENGTH))


class PageDesignSchema(StrictSchema):
    """The collection page's design; missing fields stay as they are, a list is replaced whole."""

    language = PAGE_LANGUAGE
    coverFocus = fields.Nested(FocusSchema)
    signature = OneLine(SIGNATURE_LENGTH, description="Who asks, such as “Mira, who bakes it”.")
    prompts = prompt_list()
    questions = question_list()
    video = Switch(description="Visitors may record a video.")
    voice = Switch(description="Visitors may record their voice.")
    needsCaptions = Switch(description="A recording without words or captions can't be approved.")
    asksInsider = Switch(description="Visitors are asked whether they work here.")
    steps = step_list()
    translations = page_translations("Page")


def write_offer(step: Mapping[str, Any]) -> str:
    """Return on one line what a step of the kind `code` offers."""
    return ": ".join(filter(None, (step["title"], step["text"])))


def read_page_design(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored design with defaults for missing keys."""
    return DEFAULTS | dict(stored)


def trim_page_design(design: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a design that differs from the defaults, as it is stored."""
    return {name: value for name, value in design.items() if value != DEFAULTS[name]}
