"""The form of the page editor, and what it changes.

The form sends whole lists, and the values that it showed (``before``), so that only what the person
has changed is written, and the changes of others stay.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from marshmallow import ValidationError, fields, missing
from werkzeug.datastructures import MultiDict

from testimonials.collection.forms import change_form, read_form_design, update_page_design
from testimonials.collection.models import CollectionForm
from testimonials.collection.schemas import FormDesignSchema
from testimonials.core.http.errors import Errors, ValidationFailed
from testimonials.core.http.fields import Choice, Count, OneLine, Switch, Text
from testimonials.core.http.forms import Choices, FormSchema, SentForm
from testimonials.core.http.i18n import gettext as _
from testimonials.core.text import TAG_LENGTH
from testimonials.dashboard.widget_controls import Before
from testimonials.projects import defaults, page_design
from testimonials.projects.models import Project
from testimonials.projects.page_design import CHOICES_RANGE, PageDesignSchema
from testimonials.projects.settings import update_page_config

Item = dict[str, Any]
Values = dict[str, Any]

# More than any list may have, so that a list that is too long is shown again as it was sent.
MAX_READ = 20
# The longest texts and lists.
LIMITS = {
    "headline": defaults.HEADLINE_LENGTH,
    "description": defaults.DESCRIPTION_LENGTH,
    "thankYouMessage": defaults.THANK_YOU_LENGTH,
    "signature": page_design.SIGNATURE_LENGTH,
    "prompt": page_design.PROMPT_LENGTH,
    "question": page_design.QUESTION_LENGTH,
    "choice": page_design.CHOICE_LENGTH,
    "end": page_design.END_LENGTH,
    "stepTitle": page_design.STEP_TITLE_LENGTH,
    "stepText": page_design.STEP_TEXT_LENGTH,
    "code": page_design.CODE_LENGTH,
    "prompts": page_design.MAX_PROMPTS,
    "questions": page_design.MAX_QUESTIONS,
    "choices": CHOICES_RANGE[1],
    "steps": page_design.MAX_STEPS,
}
# The settings of the page, by where they are stored; further forms have their own texts and tag.
CONFIG = ("headline", "description", "thankYouMessage", "theme", "showConfetti")
ASKED = ("rating", "role", "company", "avatar", "email")
DESIGN = ("signature", "video", "voice", "needsCaptions", "asksInsider")
FOCUS = {"focusX": "x", "focusY": "y"}
LISTS = ("prompts", "questions", "steps")
OF_FORMS = ("headline", "description", "tag", "prompts", "questions")
# The fields of the cards in each list, and those that only one kind of card has.
FIELDS = {
    "questions": ("text", "isRequired", "isPublic"),
    "choice": ("choices", "several"),
    "scale": ("low", "high"),
    "steps": ("title", "text"),
    "link": ("url", "copies"),
    "code": ("code", "until"),
}
SWITCHES = ("isRequired", "isPublic", "several", "copies")


class Lines(Choices):
    """A list of short texts, without empty ones."""

    def collect(self, form: MultiDict[str, str], name: str) -> list[Any]:
        return form.getlist(name)[:MAX_READ]

    def _deserialize(self, value: list[Any], attr: Any, data: Any, **_: Any) -> list[Any]:
        return [text.strip() for text in value if text.strip()]


class Cards(Choices):
    """Questions or steps: their ids, and the fields of each, such as ``ID-text``."""

    def collect(self, form: MultiDict[str, str], name: str) -> list[Any]:
        ids = list(dict.fromkeys(filter(None, form.getlist(name))))
        return [_read_card(form, name, id) for id in ids[:MAX_READ]]

    def _deserialize(self, value: list[Any], attr: Any, data: Any, **_: Any) -> list[Any]:
        return value


def _read_card(form: MultiDict[str, str], name: str, id: str) -> Item:
    card: Item = {"id": id, "kind": form.get(f"{id}-kind", "")}
    for field in (*FIELDS[name], *FIELDS.get(card["kind"], ())):
        texts = [text.strip() for text in form.getlist(f"{id}-{field}")[:MAX_READ]]
        if field == "choices":
            card[field] = list(dict.fromkeys(filter(None, texts)))
        elif field in SWITCHES:
            # A hidden field sends "false" before the checkbox.
            card[field] = texts[-1:] not in ([], ["false"])
        else:
            card[field] = texts[-1] if texts else ""
    return card | ({"until": card["until"] or None} if "until" in card else {})


class PageForm(FormSchema):
    """The rows of the editor; missing ones stay as they are."""

    class Meta(FormSchema.Meta):
        include: ClassVar[Values] = {f"ask-{name}": Switch() for name in ASKED}

    before = Before()
    # A card's button without a script: ``up``, ``down`` or ``delete``, the list, and the id.
    do = OneLine(TAG_LENGTH)
    headline = OneLine(defaults.HEADLINE_LENGTH)
    description = Text(defaults.DESCRIPTION_LENGTH)
    thankYouMessage = Text(defaults.THANK_YOU_LENGTH)
    theme = Choice(*defaults.THEMES)
    showConfetti = Switch()
    # Whether a face and a name are shown next to the description; off removes the name.
    isPerson = Switch()
    signature = OneLine(page_design.SIGNATURE_LENGTH)
    video = Switch()
    voice = Switch()
    needsCaptions = Switch()
    asksInsider = Switch()
    focusX = Count(0, 100)
    focusY = Count(0, 100)
    tag = OneLine(TAG_LENGTH)
    prompts = Lines()
    questions = Cards()
    steps = Cards()

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Let texts be empty, and require all other fields."""
        if isinstance(field_obj, Text):
            field_obj.load_default = ""
        elif field_obj.load_default is missing:
            field_obj.required = True
        super().on_bind_field(field_name, field_obj)

    def read(self, form: Mapping[str, str] | None = None, *, is_partial: bool = True) -> SentForm:
        return super().read(form, is_partial=is_partial)


def read_values(project: Project, form: CollectionForm | None) -> Values:
    if form is not None:
        own = read_form_design(form)
        return {name: own[name] for name in OF_FORMS}
    config, design = project.page_config, project.whole_page_design
    return (
        {name: config[name] for name in CONFIG}
        | {f"ask-{name}": config["collectFields"][name] for name in ASKED}
        | {name: design[name] for name in (*DESIGN, *LISTS)}
        | {field: design["coverFocus"][axis] for field, axis in FOCUS.items()}
        | {"isPerson": bool(design["signature"])}
    )


def find_changes(stored: Values, before: Values, sent: Values, do: str) -> Values:
    """Return what a form changes in the stored values; `do` is the button of a card."""
    changes: Values = {}
    for name, value in sent.items():
        if name in ("questions", "steps"):
            shown = before.get(name)
            old = [
                card
                for card in (shown if isinstance(shown, list) else [])
                if isinstance(card, dict) and isinstance(card.get("id"), str)
            ]
            changes[name] = merge(stored[name], old, arrange(value, do))
        elif name in stored and value != before.get(name):
            changes[name] = value
    return changes


def change_page(project: Project, form: CollectionForm | None, changes: Values) -> None:
    """Change the page, or another form, of the locked project; raise `ValidationFailed`."""
    lists = {name: changes[name] for name in LISTS if name in changes}
    cards = (*lists.get("questions", ()), *lists.get("steps", ()))
    if gaps := {name: texts for card in cards for name, texts in _find_gaps(card).items()}:
        raise ValidationFailed.of(gaps)
    try:
        loaded = (PageDesignSchema() if form is None else FormDesignSchema()).check(lists)
        if form is not None:
            change_form(project, form, changes | loaded)
            return
        config, design = _split(project, changes)
        update_page_config(project, config)
        update_page_design(project, design | loaded)
    except ValidationError as error:
        raise ValidationFailed.of(_name_fields(lists, error.messages_dict)) from None
    except ValidationFailed as error:
        raise ValidationFailed.of(_name_fields(lists, error.errors or {})) from None


def _split(project: Project, changes: Values) -> tuple[Values, Values]:
    """Return changed settings as `update_page_config` and `update_page_design` take them."""
    config = {name: changes[name] for name in CONFIG if name in changes}
    design = {name: changes[name] for name in DESIGN if name in changes}
    if fields := {name: changes[f"ask-{name}"] for name in ASKED if f"ask-{name}" in changes}:
        config["collectFields"] = fields
    if changes.get("isPerson") is False:
        design["signature"] = ""
    if focus := {axis: changes[name] for name, axis in FOCUS.items() if name in changes}:
        design["coverFocus"] = project.whole_page_design["coverFocus"] | focus
    return config, design


def _find_gaps(card: Item) -> Errors:
    """Return errors for empty fields, worded for people rather than programs."""
    needed = {"title" if "title" in card else "text": _("Fill in this field.")}
    needed |= {
        "link": {"url": _("Enter the full address, such as https://example.com.")},
        "code": {"code": _("Fill in this field.")},
    }.get(card["kind"], {})
    gaps = {f"{card['id']}-{name}": [text] for name, text in needed.items() if not card[name]}
    if card["kind"] == "choice" and len(card["choices"]) < CHOICES_RANGE[0]:
        gaps[f"{card['id']}-choices"] = [_("Enter at least two different answers.")]
    return gaps


def _name_fields(lists: Values, errors: Mapping[str, Sequence[str]]) -> Errors:
    """Return errors by field instead of by path, such as ``questions[1].text``."""
    return {_name_field(lists, path): list(texts) for path, texts in errors.items()}


def _name_field(lists: Values, path: str) -> str:
    name, _mark, rest = path.partition("[")
    number, _mark, part = rest.partition("]")
    if name not in lists or not number.isdigit():
        return path
    if name == "prompts":
        return f"prompts-{int(number) + 1}"
    return f"{lists[name][int(number)]['id']}-{part[1:].partition('[')[0] or 'text'}"


# Lists of cards.


def arrange(items: Sequence[Item], do: str) -> list[Item]:
    """Return the items after a card's button was pressed."""
    verb, id = do.partition(" ")[0], do.rpartition(" ")[2]
    place = next((number for number, item in enumerate(items) if item["id"] == id), None)
    moved = list(items)
    if place is None:
        return moved
    item = moved.pop(place)
    if verb != "delete":
        moved.insert(max(0, place + {"up": -1, "down": 1}.get(verb, 0)), item)
    return moved


def merge(stored: Sequence[Item], before: Sequence[Item], sent: Sequence[Item]) -> list[Item]:
    """Return the stored items with the changes that `sent` makes to those shown `before`.

    What others have changed meanwhile stays. New items without words are dropped.
    """
    old = {item["id"]: item for item in before}
    new = {item["id"]: item for item in sent if item["id"] in old or _has_words(item)}
    merged = {item["id"]: item for item in stored if item["id"] in new or item["id"] not in old}
    for id, item in new.items():
        if id in merged:
            merged[id] = _change(merged[id], old.get(id, {}), item)
        elif id not in old:
            merged[id] = item
    if list(new) == [id for id in old if id in new]:
        return list(merged.values())
    order = {id: place for place, id in enumerate(new)}
    return sorted(merged.values(), key=lambda item: order.get(item["id"], len(order)))


def _has_words(card: Item) -> bool:
    return any(card.get(name) for name in ("title", "text", "choices"))


def _change(stored: Item, old: Mapping[str, Any], sent: Item) -> Item:
    changed = {name: value for name, value in sent.items() if old.get(name) != value}
    if "choices" in changed and "translations" in stored:
        changed["translations"] = _realign(stored, changed["choices"])
    return dict(stored) | changed


def _realign(question: Item, new: Sequence[str]) -> dict[str, Any]:
    """Return the translations with each choice at the place of its original."""
    old, translations = question["choices"], {}
    for language, words in question["translations"].items():
        translated = [*words.get("choices", ()), *[""] * len(old)]
        known = dict(zip(old, translated, strict=False))
        # If their number is the same, an unknown choice is a reworded one.
        by_place = translated if len(new) == len(old) else [""] * len(new)
        choices = [known.get(text, by_place[place]) for place, text in enumerate(new)]
        translations[language] = words | {"choices": choices}
    return translations
