"""What is shown for people without a picture: initials, on a colour made from the name.

`static/widget/core` does the same in the browser, and a test holds the two together.
"""

import re
import unicodedata

COLOURS = 8

# A word begins with a letter or a digit, and ends at what JavaScript takes for white space.
_WORD = re.compile(r"[^\W_](?:[^\s\ufeff]|\u0085)*")
# What belongs to the letter before it beside marks: joiners, the vowels and ends of a Korean
# syllable, and the colours of skin. After a virama, so does the next consonant.
_BELONGS = re.compile(r"[\u200c\u200d\u1160-\u11ff\U0001f3fb-\U0001f3ff]")
_VIRAMA = re.compile(r"[\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d]\u200d?$")


def initials_of(name: str) -> str:
    """Return the first letters of a name's first and last word, or a star if it has none."""
    words = _WORD.findall(name) or ["★"]
    return "".join(_first_letter(word) for word in [words[0], *words[1:][-1:]]).upper()


def colour_of(name: str) -> int:
    """Return which of the colours is behind a name's initials."""
    number = 0
    for letter in name:
        number = (number * 3 + ord(letter)) % COLOURS
    return number


def _first_letter(word: str) -> str:
    """Return a word's first letter with the marks that belong to it."""
    end = 1
    while end < len(word) and (
        unicodedata.category(word[end]).startswith("M")
        or _BELONGS.match(word[end])
        or (_VIRAMA.search(word[:end]) and word[end].isalpha())
    ):
        end += 1
    return word[:end]
