"""Ratings as services and people write them: 5, 4,5, 9/10, 80%, ★★★★☆, FIVE, 5 Sterne."""

import re

STARS = 5
_NUMBER = r"(\d{1,3}(?:[.,]\d{1,3})?)"
_OF = r"(?:/|(?:out )?of|von|sur|de|su|van|z|na|av)"
_UNIT = (
    r"(?:stars?|sterne?n?|étoiles?|estrellas?|stell[ae]|estrelas?|ster(?:ren)?|gwiazd\w*|"
    r"stjärn\w*|yıldız|نجوم|نجمة|つ?星|点|★|⭐)"
)
_NUMERIC = re.compile(rf"{_NUMBER}\s*(?:(%)|{_OF}\s*(\d{{1,3}}))?\s*{_UNIT}?")
_SHAPES = re.compile(r"(?:[★⭐]\ufe0f?)+(½)?[☆✩]*|[☆✩]+")
_WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_WORD = re.compile(rf"(?:(?:star|rating)[ _]+)*({'|'.join(_WORDS)})(?:[ _-]*stars?)?")


def read_rating(text: str) -> float | None:
    """Return the number of stars, whatever the scale it was written in; None if it isn't clear.

    It may be below 1 or above 5, as written.
    """
    text = text.strip().lower()
    if found := _SHAPES.fullmatch(text):
        return len(re.findall("[★⭐]", text)) + (0.5 if found[1] else 0)
    if found := _WORD.fullmatch(text):
        return _WORDS[found[1]]
    found = _NUMERIC.fullmatch(text)
    if found is None:
        return None
    value = float(found[1].replace(",", "."))
    most = 100 if found[2] else int(found[3] or STARS)
    return round(value * STARS / most, 2) if most else None
