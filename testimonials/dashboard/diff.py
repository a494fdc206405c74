"""What a proposal changes, before and after, in words."""

import re
from dataclasses import dataclass
from typing import Any

from testimonials.core.http.fields import Choice
from testimonials.core.http.i18n import LANGUAGES, format_percent, gettext_noop, ngettext, translate
from testimonials.core.http.i18n import gettext as _
from testimonials.core.text import Parts, compare_texts
from testimonials.projects.changes import CHANGES
from testimonials.projects.models import Proposal
from testimonials.testimonials.fields import COLUMNS

# What the fields of a proposal are called on pages.

LABELS = {name: each.label for name, each in COLUMNS.items() if each.label} | {
    "animation": gettext_noop("Animation"),
    "asksInsider": gettext_noop("Asks if they work here"),
    "avatarId": gettext_noop("Photo"),
    "brandColor": gettext_noop("Brand color"),
    "businessName": gettext_noop("Business name"),
    "buttonColor": gettext_noop("Button color"),
    "buttonTextColor": gettext_noop("Button text color"),
    "captions": gettext_noop("Captions"),
    "cardStyle": gettext_noop("Card style"),
    "color": gettext_noop("Color"),
    "cardWidth": gettext_noop("Card width"),
    "chosen": gettext_noop("Chosen"),
    "company": gettext_noop("Company"),
    "coverFocus": gettext_noop("Point of the cover that always shows"),
    "dateStyle": gettext_noop("Date style"),
    "decision": gettext_noop("Decision"),
    "density": gettext_noop("Density"),
    "description": gettext_noop("Description"),
    "email": gettext_noop("Email"),
    "externalId": gettext_noop("External id"),
    "featured": gettext_noop("Featured"),
    "font": gettext_noop("Font"),
    "form": gettext_noop("Form"),
    "headline": gettext_noop("Headline"),
    "ids": gettext_noop("Ids"),
    "imageId": gettext_noop("Picture"),
    "initialCount": gettext_noop("Testimonials at first"),
    "isOpen": gettext_noop("Takes testimonials"),
    "labels": gettext_noop("Labels"),
    "language": gettext_noop("Language"),
    "layout": gettext_noop("Layout"),
    "marqueeRows": gettext_noop("Marquee rows"),
    "message": gettext_noop("Message"),
    "minLength": gettext_noop("Min length"),
    "minRating": gettext_noop("Min rating"),
    "name": gettext_noop("Name"),
    "needsCaptions": gettext_noop("Needs captions"),
    "newName": gettext_noop("Name in its address"),
    "onlyChosen": gettext_noop("Only chosen"),
    "order": gettext_noop("Order"),
    "palette": gettext_noop("Palette"),
    "people": gettext_noop("People"),
    "photoSize": gettext_noop("Photo size"),
    "prompts": gettext_noop("Prompts"),
    "questions": gettext_noop("Questions"),
    "radius": gettext_noop("Radius"),
    "readMore": gettext_noop("Read more"),
    "remindAfterDays": gettext_noop("Remind after days"),
    "role": gettext_noop("Role"),
    "sendAfterDays": gettext_noop("Send after days"),
    "shape": gettext_noop("Shape"),
    "showConfetti": gettext_noop("Confetti"),
    "showCtaButton": gettext_noop("Show cta button"),
    "showDates": gettext_noop("Show dates"),
    "showHeader": gettext_noop("Show header"),
    "showHighlights": gettext_noop("Show highlights"),
    "showLess": gettext_noop("Show less"),
    "showMore": gettext_noop("Show more"),
    "showSource": gettext_noop("Show source"),
    "showStars": gettext_noop("Show stars"),
    "showsTranscript": gettext_noop("Transcript as the card’s text"),
    "signature": gettext_noop("Signature"),
    "starColor": gettext_noop("Star color"),
    "steps": gettext_noop("Steps after sending"),
    "subject": gettext_noop("Subject"),
    "tag": gettext_noop("Tag"),
    "thankYouMessage": gettext_noop("Thank-you message"),
    "theme": gettext_noop("Theme"),
    "title": gettext_noop("Title"),
    "video": gettext_noop("Video"),
    "voice": gettext_noop("Voice"),
    "website": gettext_noop("Website"),
}
# Of what the collection page asks for.
ASKED = {
    "avatar": gettext_noop("Ask for a photo"),
    "company": gettext_noop("Ask for company"),
    "email": gettext_noop("Ask for email"),
    "rating": gettext_noop("Ask for rating"),
    "role": gettext_noop("Ask for role"),
}
LANGUAGE_NAMES = {each.code: each.name for each in LANGUAGES}


def name_field(name: str) -> str:
    """Return what a field is called; one of an object is `outer.inner`."""
    part, _dot, inner = name.partition(".")
    if part == "collectFields":
        return translate(ASKED.get(inner, f"Ask for {inner}"))
    if part == "translations":
        return _("In %(language)s", language=LANGUAGE_NAMES.get(inner, inner))
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", inner or name)
    usual = words[:1].upper() + words[1:].lower()
    return translate(LABELS.get(name) or LABELS.get(inner) or usual)


# What a proposal would change, as pages show it: words before and after, what differs marked.

PICTURES = ("imageId", "avatarId")
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
# The kinds of questions, but for choices.
QUESTIONS = {
    "text": gettext_noop("text"),
    "scale": gettext_noop("scale"),
    "consent": gettext_noop("consent"),
}
# Words for a list of these, an item a line.
LINES = {"questions": lambda each: _write_question(each), "steps": lambda each: _write_step(each)}


def list_differences(row: Proposal, now: dict[str, Any]) -> list[Difference]:
    """Return the fields that a proposal would change, beside their values `now`."""
    before, after = _flatten(now), _flatten(row.values)
    # It only says which form it is.
    after.pop("name", None)
    old, new = _quote_highlights(before, before), _quote_highlights(after, before | after)
    choices = {
        name for name, each in CHANGES[row.kind].schema.fields.items() if isinstance(each, Choice)
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


def write_value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return _("On") if value else _("Off")
    if name == "language":
        return LANGUAGE_NAMES.get(value, _("Each visitor’s own"))
    if value is None or value in ("", []):
        return _("None")
    if name == "highlights" and not isinstance(value[0], str):
        return ngettext("%(num)s marked", "%(num)s marked", len(value))
    if name in LINES:
        return "\n".join(f"{place}. {LINES[name](each)}" for place, each in enumerate(value, 1))
    if name == "coverFocus":
        return _(
            "%(x)s from the left, %(y)s from the top",
            x=format_percent(value["x"]),
            y=format_percent(value["y"]),
        )
    if isinstance(value, dict):
        return "\n".join(f"{name_field(each)}: {write_value(each, value[each])}" for each in value)
    if isinstance(value, list):
        return ("\n" if name == "prompts" else ", ").join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _write_question(question: dict[str, Any]) -> str:
    """Return a question in words: What do you take home? (choice of Bread, Buns; on the card)."""
    facts = [translate(QUESTIONS.get(question["kind"], question["kind"]))]
    if question["choices"]:
        listed = ", ".join(question["choices"])
        several = _("choice of several: %(choices)s", choices=listed)
        facts = [
            several if question["several"] else _("choice of one: %(choices)s", choices=listed)
        ]
    if question["low"] or question["high"]:
        low, high = question["low"] or 0, question["high"] or 10
        facts.append(_("from %(low)s to %(high)s", low=low, high=high))
    facts += [_("must be answered")] * question["isRequired"]
    facts.append(_("on the card") if question["isPublic"] else _("only you see it"))
    names = [LANGUAGE_NAMES.get(code, code) for code in question["translations"]]
    facts += [_("in %(language)s too", language=name) for name in names]
    return f"{question['text']} ({'; '.join(facts)})"


def _write_step(step: dict[str, Any]) -> str:
    parts = [step["title"], step["text"], step["url"] or _("code %(code)s", code=step["code"])]
    parts += [_("copies their words")] * step["copies"]
    parts += [_("until %(day)s", day=step["until"])] * bool(step["until"])
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
        old, new = (translate(text[:1].upper() + text[1:]) for text in (old, new))
    colours = tuple(text if _COLOUR.fullmatch(text) else "" for text in (old, new))
    parts = compare_texts(old, new) if len(new) > len("#000000") else ([(old, True)], [(new, True)])
    return Difference(name, name_field(name), *parts, (colours[0], colours[1]), name in PICTURES)
