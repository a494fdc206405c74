"""Texts as websites keep them: without their markup, and no longer than fits."""

import html
import re
import unicodedata

# Of a longer cell only the beginning is read.
LONGEST = 20_000

# Whatever else stands in angle brackets, such as <3, is what somebody wrote.
_UNSEEN = re.compile(r"<(script|style)\b[^<>]*>[^<]*</\1>", re.I)
_BREAK = re.compile(r"(?:<br\b[^<>]*>|</(?:p|div|li|h[1-6]|blockquote|tr)>)\n?", re.I)
_TAG = re.compile(
    r"</?(?:p|div|span|b|i|u|s|em|strong|a|ul|ol|li|h[1-6]|blockquote|font|img|hr|small|sup|sub|"
    r"table|tbody|tr|td|br|script|style)\b[^<>]*>",
    re.I,
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});", re.I)
_BLANKS = re.compile(r"\n{3,}")
_SENTENCE = re.compile(r"""[.!?…]["'”’»)\]]*(?=\s)|[。！？]["'”’」』）]*""")
_JOINERS = {"\u200d", "\ufe0f"}
_TRANSLATED, _ORIGINAL = "(Translated by Google)", "(Original)"


def read_markup(text: str) -> str:
    """Return the words of a text that a website kept as HTML; other texts stay as they are."""
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub("\n", _UNSEEN.sub("", text[:LONGEST])))
        text = _BLANKS.sub("\n\n", text)
    if "&" in text:
        text = _ENTITY.sub(lambda found: html.unescape(found[0]), text[:LONGEST])
        text = text.replace("\xa0", " ")
    return text.strip()


def drop_translation(text: str) -> str:
    """Return the words that were written, of a text with Google's translation before or after."""
    if text.startswith(_TRANSLATED):
        text = text.partition(_ORIGINAL)[2].strip() or text.removeprefix(_TRANSLATED)
    return text.partition(_TRANSLATED)[0].strip()


def shorten(text: str, length: int) -> str:
    """Return a text of at most `length` characters: whole sentences or words, and an ellipsis."""
    if len(text) <= length:
        return text
    # Where the last sentence ends early, words that fit would be lost.
    ends = [each.end() for each in _SENTENCE.finditer(text[: length - 2])]
    if ends and ends[-1] > length // 2:
        return f"{text[: ends[-1]]} …"
    end = length - 1
    # Not between a letter and its accent, or within an emoji.
    while end and (unicodedata.combining(text[end]) or {text[end], text[end - 1]} & _JOINERS):
        end -= 1
    cut = text[:end]
    if (space := max(cut.rfind(" "), cut.rfind("\n"))) > length // 2:
        cut = cut[:space]
    return f"{cut.rstrip(' ,;:–—-')}…"
