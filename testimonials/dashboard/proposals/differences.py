"""What a proposal would change, as pages show it: words before and after, what differs marked."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from testimonials.core.web.fields import Choice
from testimonials.core.web.languages import LANGUAGES
from testimonials.proposals.kinds import KINDS
from testimonials.proposals.models import Proposal

# Text, and whether it differs.
Parts = list[tuple[str, bool]]

# Where the field's own name would not do.
LABELS = {
    "thankYouMessage": "Thank-you message",
    "authorName": "Name",
    "authorRole": "Role",
    "authorCompany": "Company",
    "authorEmail": "Email",
    "authorAvatar": "Photo’s address",
    "avatarId": "Photo",
    "imageId": "Picture",
    "steps": "Steps after sending",
    "coverFocus": "Point of the cover that always shows",
    "newName": "Name in its address",
    "isOpen": "Takes testimonials",
    "needsCaptions": "Needs captions",
    "showConfetti": "Confetti",
    "showsTranscript": "Transcript as the card’s text",
    "initialCount": "Testimonials at first",
}
PICTURES = ("imageId", "avatarId")
# Below this, two texts have so little in common that marking words only confuses.
ALIKE = 0.35
_COLOUR = re.compile(r"#[0-9A-F]{6}")


@dataclass(frozen=True)
class Difference:
    """One field of a proposal."""

    name: str
    label: str
    before: Parts
    after: Parts
    # Colours to show beside their names.
    colours: tuple[str, str] = ("", "")
    is_picture: bool = False


# Whose parts mean nothing alone.
WHOLE = ("coverFocus",)
# Words for a list of these, an item a line.
LINES = {"questions": lambda each: _write_question(each), "steps": lambda each: _write_step(each)}
LANGUAGE_NAMES = {each.code: each.name for each in LANGUAGES}


def list_differences(row: Proposal, now: dict[str, Any]) -> list[Difference]:
    """Return the fields that a proposal would change, beside their values `now`."""
    before, after = _flatten(now), _flatten(row.values)
    # It only says which form it is.
    after.pop("name", None)
    old, new = _quote_highlights(before, before), _quote_highlights(after, before | after)
    choices = {
        name for name, each in KINDS[row.kind].schema.fields.items() if isinstance(each, Choice)
    }
    return [
        _compare(name, old.get(name), new[name], is_choice=name in choices)
        for name, value in after.items()
        if name not in before or before[name] != value
    ]


def list_changed(row: Proposal, now: dict[str, Any]) -> list[str]:
    """Return the labels of what has changed since the proposal was made."""
    before, after = _flatten(row.before), _flatten(now)
    return [name_field(name) for name, was in before.items() if after.get(name) != was]


def name_field(name: str) -> str:
    part, _, inner = name.partition(".")
    if part == "collectFields":
        return f"Ask for {'a photo' if inner == 'avatar' else inner}"
    if part == "translations":
        return f"In {LANGUAGE_NAMES.get(inner, inner)}"
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", inner or name)
    return LABELS.get(name, words[:1].upper() + words[1:].lower())


def write_value(name: str, value: Any) -> str:
    """Return a value in words."""
    if isinstance(value, bool):
        return "On" if value else "Off"
    if value is None or value in ("", []):
        return "None"
    if name == "highlights" and not isinstance(value[0], str):
        return f"{len(value)} marked"
    if name in LINES:
        return "\n".join(f"{place}. {LINES[name](each)}" for place, each in enumerate(value, 1))
    if name == "coverFocus":
        return f"{value['x']}% from the left, {value['y']}% from the top"
    if isinstance(value, dict):
        return "\n".join(f"{name_field(each)}: {write_value(each, value[each])}" for each in value)
    if isinstance(value, list):
        return ("\n" if name == "prompts" else ", ").join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def compare_texts(before: str, after: str) -> tuple[Parts, Parts]:
    """Return both texts in parts, each with whether the other one hasn't got it."""
    old, new = (re.findall(r"\w+|\s+|[^\w\s]", text) for text in (before, after))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < ALIKE:
        return [(before, True)], [(after, True)]
    left: Parts = []
    right: Parts = []
    for tag, i, j, k, m in matcher.get_opcodes():
        left.append(("".join(old[i:j]), tag != "equal"))
        right.append(("".join(new[k:m]), tag != "equal"))
    return [part for part in left if part[0]], [part for part in right if part[0]]


def _write_question(question: dict[str, Any]) -> str:
    """Return a question in words: What do you take home? (choice of Bread, Buns; on the card)."""
    facts = [question["kind"]]
    if question["choices"]:
        several = "several" if question["several"] else "one"
        facts = [f"choice of {several}: {', '.join(question['choices'])}"]
    if question["low"] or question["high"]:
        facts.append(f"from {question['low'] or 0} to {question['high'] or 10}")
    facts += ["must be answered"] * question["isRequired"]
    facts.append("on the card" if question["isPublic"] else "only you see it")
    facts += [f"in {LANGUAGE_NAMES.get(code, code)} too" for code in question["translations"]]
    return f"{question['text']} ({'; '.join(facts)})"


def _write_step(step: dict[str, Any]) -> str:
    parts = [step["title"], step["text"], step["url"] or f"code {step['code']}"]
    parts += ["copies their words"] * step["copies"]
    parts += [f"until {step['until']}"] * bool(step["until"])
    return " · ".join(filter(None, parts))


def _quote_highlights(values: dict[str, Any], words: dict[str, Any]) -> dict[str, Any]:
    """Return the values with the words that are marked in a text, where that is known."""
    ranges, text = values.get("highlights"), words.get("text")
    if not ranges or text is None:
        return values
    return values | {"highlights": [f"“{text[start:end]}”" for start, end in ranges]}


def _flatten(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with those of inner objects beside them, as `outer.inner`."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict) and name not in WHOLE:
            flat |= {f"{name}.{inner}": each for inner, each in value.items()}
        else:
            flat[name] = value
    return flat


def _compare(name: str, before: Any, after: Any, *, is_choice: bool) -> Difference:
    old, new = write_value(name, before), write_value(name, after)
    if is_choice:
        old, new = (text[:1].upper() + text[1:] for text in (old, new))
    colours = tuple(text if _COLOUR.fullmatch(text) else "" for text in (old, new))
    parts = compare_texts(old, new) if len(new) > len("#000000") else ([(old, True)], [(new, True)])
    return Difference(name, name_field(name), *parts, (colours[0], colours[1]), name in PICTURES)
