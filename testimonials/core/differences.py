"""What differs between two texts."""

import re
from itertools import groupby

# Text, and whether it differs.
Parts = list[tuple[str, bool]]

# Below this, two texts have so little in common that marking words only confuses.
ALIKE = 0.35
# Longer texts are shown whole, side by side.
MOST_WORDS = 2_000


def compare_texts(before: str, after: str) -> tuple[Parts, Parts]:
    """Return both texts in parts, each with whether the other one hasn't got it."""
    old, new = (re.findall(r"\w+|\s+|[^\w\s]", text) for text in (before, after))
    if max(len(old), len(new)) > MOST_WORDS:
        return [(before, True)], [(after, True)]
    # What both begin with needs no search.
    begin = next((n for n, (was, now) in enumerate(zip(old, new, strict=False)) if was != now), 0)
    pairs = _find_common(old[begin:], new[begin:])
    if 2 * (begin + len(pairs)) < ALIKE * (len(old) + len(new)):
        return [(before, True)], [(after, True)]
    kept, also = ({*range(begin), *(begin + pair[side] for pair in pairs)} for side in (0, 1))
    return _join(old, kept), _join(new, also)


def _find_common(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Return the places of the longest row of words that both have, the last pair first.

    A number has a bit for each old word, so that a new one is compared with all of them at once
    (Crochemore and others, 2001): the time doesn't depend on what the words are.
    """
    places: dict[str, int] = {}
    for place, word in enumerate(old):
        places[word] = places.get(word, 0) | 1 << place
    every = (1 << len(old)) - 1
    # After each new word: a bit is unset where a row ends that is longer than those before.
    rows = [every]
    for word in new:
        here = rows[-1] & places.get(word, 0)
        rows.append(((rows[-1] + here) | (rows[-1] - here)) & every)
    pairs, at, place = [], len(old), len(new)
    while at and place:
        if rows[place] >> at - 1 & 1:
            at -= 1
        elif not rows[place - 1] >> at - 1 & 1:
            place -= 1
        else:
            at, place = at - 1, place - 1
            pairs.append((at, place))
    return pairs


def _join(words: list[str], kept: set[int]) -> Parts:
    """Return the words in parts, each with whether it is not among those that are kept."""
    runs = groupby(enumerate(words), key=lambda each: each[0] not in kept)
    return [("".join(word for _, word in run), differs) for differs, run in runs]
