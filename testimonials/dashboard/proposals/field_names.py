"""What the fields of a proposal are called on pages."""

import re

from testimonials.core.web.languages import LANGUAGES, gettext_noop, translate
from testimonials.core.web.languages import gettext as _

LABELS = {
    "animation": gettext_noop("Animation"),
    "authorAvatar": gettext_noop("Photo’s address"),
    "authorCompany": gettext_noop("Company"),
    "authorEmail": gettext_noop("Email"),
    "authorName": gettext_noop("Name"),
    "authorRole": gettext_noop("Role"),
    "avatarId": gettext_noop("Photo"),
    "brandColor": gettext_noop("Brand color"),
    "businessName": gettext_noop("Business name"),
    "buttonColor": gettext_noop("Button color"),
    "buttonTextColor": gettext_noop("Button text color"),
    "captions": gettext_noop("Captions"),
    "cardStyle": gettext_noop("Card style"),
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
    "highlights": gettext_noop("Highlights"),
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
    "pinned": gettext_noop("Pinned"),
    "prompts": gettext_noop("Prompts"),
    "questions": gettext_noop("Questions"),
    "radius": gettext_noop("Radius"),
    "rating": gettext_noop("Rating"),
    "readMore": gettext_noop("Read more"),
    "remindAfterDays": gettext_noop("Remind after days"),
    "reply": gettext_noop("Reply"),
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
    "submittedAt": gettext_noop("Submitted at"),
    "tag": gettext_noop("Tag"),
    "tags": gettext_noop("Tags"),
    "text": gettext_noop("Text"),
    "thankYouMessage": gettext_noop("Thank-you message"),
    "theme": gettext_noop("Theme"),
    "title": gettext_noop("Title"),
    "transcript": gettext_noop("Transcript"),
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
