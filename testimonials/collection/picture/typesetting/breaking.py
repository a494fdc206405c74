"""Breaking a text into lines."""

from collections.abc import Iterable

from testimonials.collection.picture.typesetting.clusters import (
    Cluster,
    Line,
    is_wide,
    measure,
)

# Chinese and Japanese break between any two characters, but for these.
NOT_FIRST = set(
    "、。，．・：；？！）］｝」』】〉》〕”’ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々…‥,.!?:;)]}%"
)
NOT_LAST = set("（［｛「『【〈《〔“‘([{$¥")


def wrap(clusters: Iterable[Cluster], size: int, width: float) -> list[Line]:
    """Break into lines of a width: at spaces, between wide letters, or anywhere."""
    lines: list[Line] = []
    line: list[Cluster] = []
    length = 0.0
    for word in _words(clusters):
        if word[0].is_break:
            lines.append(tuple(line))
            line, length = [], 0.0
            continue
        own = measure(word, size)
        seen = measure(word[:-1], size) if word[-1].is_space else own
        if line and length + seen > width:
            lines.append(tuple(line))
            line, length = [], 0.0
        if seen > width:
            *full, last = _break_word(word, size, width)
            lines += full
            word, own = last, measure(last, size)
        line += word
        length += own
    lines.append(tuple(line))
    return [_trim(line) for line in lines]


def _words(clusters: Iterable[Cluster]) -> Iterable[Line]:
    """Yield what stays together: words with the space after them, single wide letters, breaks."""
    word: list[Cluster] = []
    for each in clusters:
        if word and (each.is_break or word[-1].is_break or _may_break(word[-1], each)):
            yield tuple(word)
            word = []
        word.append(each)
    if word:
        yield tuple(word)


def _may_break(before: Cluster, after: Cluster) -> bool:
    if before.is_space:
        return not after.is_space
    if before.text in "-–—/" and after.text.isalpha():
        return True
    if after.is_space or after.text in NOT_FIRST or before.text in NOT_LAST:
        return False
    return is_wide(before) or is_wide(after)


def _break_word(word: Line, size: int, width: float) -> list[Line]:
    lines: list[Line] = []
    line: list[Cluster] = []
    length = 0.0
    for each in word:
        own = measure((each,), size)
        if line and length + own > width:
            lines.append(tuple(line))
            line, length = [], 0.0
        line.append(each)
        length += own
    return [*lines, tuple(line)]


def balance(clusters: Line, lines: list[Line], size: int, width: float) -> list[Line]:
    """Return as many lines of the least width."""
    low, best = width / 2, lines
    while width - low > size / 8:
        middle = (low + width) / 2
        tried = wrap(clusters, size, middle)
        if len(tried) > len(lines):
            low = middle
        else:
            width, best = middle, tried
    return best


def _trim(line: Line) -> Line:
    return line[:-1] if line and line[-1].is_space else line
