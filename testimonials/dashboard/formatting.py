"""How pages describe testimonials, their history, times, plans, emails and settings."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from markupsafe import Markup, escape

from testimonials.auth.models import Account
from testimonials.collection.submission import ADDRESS, BAIT, DUPLICATE, FAST, FLOOD, LINKS
from testimonials.core import clock
from testimonials.core.audit import Event
from testimonials.core.event_lists import REASONS
from testimonials.core.http.i18n import (
    LANGUAGES,
    format_day,
    format_time,
    gettext_noop,
    ngettext,
    translate,
)
from testimonials.core.http.i18n import gettext as _
from testimonials.core.images.colors import colour_of, initials_of
from testimonials.core.text import split_text
from testimonials.projects.page_design import SCALE_RANGE
from testimonials.projects.projects import count_projects, more_projects_url, project_limit_of
from testimonials.testimonials.events import DISOWNED
from testimonials.testimonials.fields import COLUMNS, is_day, write_answer
from testimonials.testimonials.media.containers import describe_support
from testimonials.testimonials.media.playback import describe_recording_of
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation import ACTIONS, DELETE, SET_ASIDE, keeps_rating

SOURCES = {
    "public_page": gettext_noop("Collection page"),
    "manual": gettext_noop("Added by hand"),
    "import": gettext_noop("Imported"),
    "demo": gettext_noop("Sample"),
}
STATUS_NAMES = {
    "pending": gettext_noop("Waiting"),
    "approved": gettext_noop("Approved"),
    "rejected": gettext_noop("Rejected"),
    "spam": gettext_noop("Spam"),
    "withdrawn": gettext_noop("Withdrawn by its author"),
    "demo": gettext_noop("Sample"),
}
ACTIONS_DONE = {name: action.done for name, action in ACTIONS.items()} | {
    "take_down": gettext_noop("Taken down"),
    "spam": gettext_noop("Marked as spam"),
    "edit": gettext_noop("Edited"),
    "add": gettext_noop("Added by hand"),
    "import": gettext_noop("Imported"),
    "tag": gettext_noop("Tags changed"),
    "highlight": gettext_noop("Highlights changed"),
    "reply": gettext_noop("Reply changed"),
    "undo": gettext_noop("Undone"),
    "thank": gettext_noop("Thanked by email"),
    "correct": gettext_noop("Changed by its author"),
    "withdraw": gettext_noop("Withdrawn by its author"),
    "remove_recording": gettext_noop("Recording removed"),
    "consent": gettext_noop("Consent given again"),
    "confirm": gettext_noop("Confirmed by its author"),
    "object": gettext_noop("Its author objects to these words"),
    "tell-author": gettext_noop("Author told about the change"),
    "disown": gettext_noop("Disowned by the holder of the email address"),
}
HISTORY_LABELS = {column.attribute: column.label for column in COLUMNS.values() if column.is_told}
HELD_REASONS = {
    BAIT: gettext_noop("a hidden field was filled in"),
    FAST: gettext_noop("sent faster than a person can type"),
    LINKS: gettext_noop("a link"),
    DUPLICATE: gettext_noop("the same text was sent before"),
    ADDRESS: gettext_noop("many came from one network"),
    FLOOD: gettext_noop("many came at once"),
    DISOWNED: gettext_noop("the holder of the email address didn’t write it"),
}
# When people get mail: the names of the choices, and what they mean.
MODES = {
    "at_once": (
        gettext_noop("Immediately"),
        gettext_noop("Within minutes. If several arrive together, you get one email."),
    ),
    "daily": (
        gettext_noop("Once a day"),
        gettext_noop("One email at 8:00 UTC, if there is something new."),
    ),
    "never": (gettext_noop("Never"), ""),
}


def describe_modes() -> dict[str, tuple[str, str]]:
    return {mode: (translate(name), translate(text)) for mode, (name, text) in MODES.items()}


def describe_testimonial(row: Testimonial) -> dict[str, Any]:
    """Return what pages show of a testimonial in addition to its columns."""
    # Set aside, and then withdrawn by its author.
    is_taken_back = row.status == "withdrawn" != row.set_aside
    return {
        "row": row,
        "avatar_url": row.avatar_url or (row.twitter or {}).get("avatarUrl"),
        "initials": initials_of(row.author_name),
        "color": colour_of(row.author_name),
        "status": translate(STATUS_NAMES[row.status]),
        "source_label": translate(SOURCES.get(row.source, row.source)),
        "held": _describe_held(row),
        "set_aside": _describe_reason(row.set_aside)
        if row.set_aside and not is_taken_back
        else None,
        "recording": _describe_recording(row),
        "answers": list(map(_describe_answer, row.all_answers or ())),
        "parts": split_text(row.text, row.highlights),
        "can": {name for name, action in ACTIONS.items() if action.can(row)},
        # If it was deleted without a reason, its rating still counts.
        "counts_on": row.deleted_at is None and keeps_rating(row),
    }


def name_status(row: Testimonial) -> str:
    return _("Trash") if row.deleted_at is not None else translate(STATUS_NAMES[row.status])


def _describe_recording(row: Testimonial) -> dict[str, Any] | None:
    """Return a recording as the inbox shows it; None while it is being uploaded."""
    if (described := describe_recording_of(row)) is None or row.recording is None:
        return None
    minutes, seconds = divmod(round(row.recording.seconds or 0), 60)
    return described | {
        "length": f"{minutes}:{seconds:02}",
        "has_captions": bool(row.captions),
        "shows_transcript": row.shows_transcript,
        "warning": describe_support(row.recording.media_type or "", row.recording.codecs or ""),
    }


def _describe_answer(answer: Mapping[str, Any]) -> dict[str, Any]:
    kind, words = answer["kind"], write_answer(answer)
    if kind == "scale":
        words = _("%(count)s of %(limit)s", count=words, limit=SCALE_RANGE[1])
    elif kind == "consent":
        words = _("Agreed")
    return {"question": answer["question"], "words": words, "is_public": answer["isPublic"]}


def list_reasons() -> list[tuple[str, str]]:
    names = {code: translate(name) for code, name in REASONS.items()}
    return [(code, name[:1].upper() + name[1:]) for code, name in names.items()]


def _describe_reason(reason: str) -> str:
    return _("Set aside: %(reason)s", reason=translate(REASONS[reason]))


def _describe_held(row: Testimonial) -> str | None:
    """Return why a testimonial is held as spam; None if it isn't, or without known reasons."""
    if row.status != "spam":
        return None
    names = [translate(HELD_REASONS.get(reason, "")) for reason in (row.held_for or "").split(",")]
    reasons = ", ".join(filter(None, names))
    return _("Held: %(reasons)s", reasons=reasons) if reasons else None


def describe_change(change: Event, people: Mapping[str, str]) -> dict[str, Any]:
    """Return an entry of the history; `people` has names from `find_display_names`."""
    before = "\n".join(
        f"{translate(HISTORY_LABELS[name])}: {', '.join(value) if name == 'tags' else value}"
        for name, value in change.before.items()
        if name in HISTORY_LABELS and value
    )
    who = people.get(change.actor, change.actor)
    what = translate(ACTIONS_DONE.get(change.action, change.action))
    if change.reason and change.action == SET_ASIDE:
        what = _describe_reason(change.reason)
    elif change.reason and change.action == DELETE:
        what = _("%(done)s: %(what)s", done=what, what=translate(REASONS[change.reason]))
    return {
        "who": _("%(name)s, by a link in an email", name=who) if change.is_by_mail else who,
        "what": what,
        "before": before,
        "time": change.created_at,
    }


def describe_hands(
    row: Testimonial, history: Sequence[Event], people: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return who sent, last changed and approved a testimonial; `history` is newest first."""

    def find(*actions: str) -> str:
        return next((change.actor for change in history if change.action in actions), "")

    adder = find("add", "import")
    hands = [
        (translate(ACTIONS_DONE["import"]) if row.source == "import" else _("Added"), adder)
        if adder
        else (_("Sent"), _("its author") if row.source == "public_page" else ""),
        (_("Changed last"), find("edit", "correct", "tag", "highlight", "reply")),
        (_("Approved"), find("approve") if row.status == "approved" else ""),
    ]
    return [(what, people.get(who, who)) for what, who in hands if who]


def describe_plan(account: Account) -> dict[str, Any]:
    return {
        "plan": account.plan,
        "used": count_projects(account.id),
        "allowed": project_limit_of(account),
        "more_url": more_projects_url(account.id),
    }


def describe_time(time: datetime) -> str:
    """Return a time to the minute, or only its day if no time is known."""
    return format_day(time) if is_day(time) else format_time(time)


def start_small(text: str) -> str:
    """Return text from `describe_age` for use inside a sentence."""
    return text[:1].lower() + text[1:]


def make_breakable(address: str) -> Markup:
    """Return an address that breaks at its punctuation, and a name that breaks between words."""
    text = escape(address)
    parts = re.sub(r"(@|/(?=\w))|(?=\.)", r"\1<wbr>", str(text))
    # Its parts are escaped.
    return Markup(f'<span class="whole">{parts}</span>') if parts != text else text  # noqa: S704


def describe_age(time: datetime) -> str:
    """Return how long ago a time is, or its date after seven days."""
    now = clock.now()
    age = now - time
    if is_day(time):
        age = now.date() - time.date()
        if not age:
            return _("Today")
    if age < timedelta(minutes=1):
        return _("Just now") if age > -timedelta(days=1) else format_day(time)
    if age < timedelta(hours=1):
        return ngettext("%(num)s minute ago", "%(num)s minutes ago", age // timedelta(minutes=1))
    if age < timedelta(days=1):
        return ngettext("%(num)s hour ago", "%(num)s hours ago", age // timedelta(hours=1))
    if age < timedelta(days=2):
        return _("Yesterday")
    if age < timedelta(days=7):
        return ngettext("%(num)s day ago", "%(num)s days ago", age // timedelta(days=1))
    return format_day(time)


_TOKEN = re.compile(r"""(?P<value>"[^"\n]*")|(?P<name>(?<![\w-])[\w-]++)(?==")|(?P<rest>.|\n)""")


def highlight(code: str) -> Markup:
    """Return code with the names and values of its attributes in spans."""
    parts = []
    for token in _TOKEN.finditer(code):
        text = escape(token[0])
        kind = token.lastgroup
        parts.append(
            text if kind == "rest" else Markup('<span class="code-{}">{}</span>').format(kind, text)
        )
    return Markup("").join(parts)


LANGUAGE_NAMES = {language.code: language.name for language in LANGUAGES}
# By the names of fields in the API.
LABELS = {name: column.label for name, column in COLUMNS.items() if column.label} | {
    "animation": gettext_noop("Animation"),
    "asksInsider": gettext_noop("If they work here"),
    "avatar": gettext_noop("Photo"),
    "avatarId": gettext_noop("Photo"),
    "brandColor": gettext_noop("Colour"),
    "businessName": gettext_noop("Name"),
    "buttonColor": gettext_noop("Button colour"),
    "buttonTextColor": gettext_noop("Button text colour"),
    "captions": gettext_noop("Captions"),
    "cardStyle": gettext_noop("Cards"),
    "color": gettext_noop("Colour"),
    "cardWidth": gettext_noop("Card width"),
    "chosen": gettext_noop("Chosen"),
    "choices": gettext_noop("Answers"),
    "code": gettext_noop("Code"),
    "company": gettext_noop("Company"),
    "copies": gettext_noop("Copy their words first"),
    "dateStyle": gettext_noop("Date format"),
    "density": gettext_noop("Spacing"),
    "description": gettext_noop("Description"),
    "email": gettext_noop("Email"),
    "featured": gettext_noop("First pinned card"),
    "font": gettext_noop("Font"),
    "headline": gettext_noop("Headline"),
    "high": gettext_noop("What 10 means"),
    "imageId": gettext_noop("Picture"),
    "initialCount": gettext_noop("Number at first"),
    "isOpen": gettext_noop("Takes testimonials"),
    "isPublic": gettext_noop("Show the answer on the card"),
    "isRequired": gettext_noop("Must be answered"),
    "kind": gettext_noop("Kind"),
    "labels": gettext_noop("Labels"),
    "language": gettext_noop("Language"),
    "layout": gettext_noop("Arrangement"),
    "low": gettext_noop("What 0 means"),
    "marqueeRows": gettext_noop("Ticker lines"),
    "minLength": gettext_noop("Minimum length"),
    "minRating": gettext_noop("Lowest rating"),
    "name": gettext_noop("Name"),
    "needsCaptions": gettext_noop("Require captions"),
    "newName": gettext_noop("Name in its address"),
    "onlyChosen": gettext_noop("Only chosen by hand"),
    "order": gettext_noop("Order"),
    "palette": gettext_noop("Palette"),
    "photoSize": gettext_noop("Photo size"),
    "prompts": gettext_noop("Guiding questions"),
    "questions": gettext_noop("Your own questions"),
    "radius": gettext_noop("Corners"),
    "readMore": gettext_noop("Read more"),
    "role": gettext_noop("Role"),
    "several": gettext_noop("Allow several answers"),
    "shape": gettext_noop("Shape"),
    "showConfetti": gettext_noop("Confetti"),
    "showCtaButton": gettext_noop("“Add yours” button below"),
    "showDates": gettext_noop("Date"),
    "showHeader": gettext_noop("Average on top"),
    "showHighlights": gettext_noop("Highlighted words"),
    "showLess": gettext_noop("Show less"),
    "showMore": gettext_noop("Show more"),
    "showSource": gettext_noop("Company and handle"),
    "showStars": gettext_noop("Stars"),
    "showsTranscript": gettext_noop("Show as the card’s text"),
    "signature": gettext_noop("Name beside the photo"),
    "starColor": gettext_noop("Star colour"),
    "steps": gettext_noop("Next steps"),
    "tag": gettext_noop("Tag"),
    "thankYouMessage": gettext_noop("Thanks"),
    "theme": gettext_noop("Light or dark"),
    "title": gettext_noop("Title"),
    "trade": gettext_noop("Business"),
    "until": gettext_noop("Until"),
    "url": gettext_noop("Address"),
    "video": gettext_noop("Video"),
    "voice": gettext_noop("Voice"),
    "website": gettext_noop("Website"),
    "x": gettext_noop("From the left, in percent"),
    "y": gettext_noop("From the top, in percent"),
}


def name_field(name: str) -> str:
    """Return the label of a field; one of an object is `outer.inner`."""
    part, _dot, inner = name.partition(".")
    if part == "translations":
        return _("In %(language)s", language=LANGUAGE_NAMES.get(inner, inner))
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", inner or name)
    default = words[:1].upper() + words[1:].lower()
    return translate(LABELS.get(name) or LABELS.get(inner) or default)
