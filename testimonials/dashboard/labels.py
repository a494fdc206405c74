"""The labels of settings, in the editors and beside what a proposal would change."""

import re

from testimonials.core.http.i18n import LANGUAGES, gettext_noop, translate
from testimonials.core.http.i18n import gettext as _
from testimonials.testimonials.fields import COLUMNS

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
