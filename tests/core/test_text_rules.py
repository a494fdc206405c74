"""Texts are normalized as Unicode says, and in time in proportion to their length."""

import random
import sys
import unicodedata
from functools import cache

import pytest

from testimonials.core.text import normalize


@cache
def find_letters() -> tuple[list[str], list[str]]:
    """Return every mark, and all else that normalizing changes."""
    every = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    marks = [each for each in every if unicodedata.combining(each)]
    return marks, [each for each in every if unicodedata.decomposition(each) and each not in marks]


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_a_text_is_normalized_as_by_the_library(form):
    draw = random.Random(form)
    marks, changed = find_letters()
    letters = [*changed, *"aeio .-!🎉가ᄀ각カﾞ"]
    for _ in range(2_000):
        clusters = (
            draw.choice(letters) + "".join(draw.choices(marks, k=draw.randrange(4)))
            for _ in range(draw.randrange(30))
        )
        text = "-" * draw.randrange(80) + "".join([" ", *clusters]) + "é" * draw.randrange(80)
        assert normalize(form, text) == unicodedata.normalize(form, text)


def test_marks_that_nobody_writes_are_all_kept():
    marks = "\u0315\u0300\u0327" * 3_000
    assert sorted(normalize("NFKC", f"x{marks}")) == sorted(f"x{marks}")
    assert normalize("NFC", f"e{marks}")[:1] == "ȩ"
