"""How well a testimonial answers a search."""

from typing import Any

from testimonials.testimonials.search.words import Word, fold, is_letter

# Of the columns that the index has, in its order; what a word is worth in each.
FIELDS = {
    "author_name": 9,
    "author_role": 4,
    "author_company": 4,
    "author_email": 4,
    "text": 2,
    "answers": 1,
}
TAG = 4


def rank_row(row: Any, words: list[Word], tags: str, *, is_sure: bool) -> int | None:
    """Return what a row is worth, None if it lacks a word; `is_sure`: the index says it has all.

    `tags` are its folded tags. A whole word is worth twice as much as one that goes on.
    """
    fields = [(fold(_read(getattr(row, name))), value) for name, value in FIELDS.items()]
    fields.append((tags, TAG))
    total = 0
    for word in words:
        value = max(value * _weigh(word, folded) for folded, value in fields)
        if not value and not is_sure:
            return None
        total += value
    return total


def _read(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(str(each["answer"]) for each in value)
    return value or ""


def _weigh(word: Word, folded: str) -> int:
    best = 0
    for _start, end in word.find(folded):
        if end == len(folded) or not is_letter(folded[end]):
            return 2
        best = 1
    return best
