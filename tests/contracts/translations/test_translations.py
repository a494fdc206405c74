"""Every text of the public side is there in every language, and compiled (docs/languages.md)."""

import re
from gettext import GNUTranslations

import pytest
from babel.messages import Message

from testimonials.core.web.languages import ENGLISH, LANGUAGES
from tests.contracts.translations import (
    CODES,
    collect,
    po_path,
    read,
    render_po,
    untranslated,
    update,
)

RENEW = "run scripts/translate"
PLACEHOLDER = re.compile(r"%\((\w+)\)s")
TAG = re.compile(r"</?\w+[^>]*>")
WORD = re.compile(r"[^\W\d_]+")
SHORT = 2
# Letters that only one of the languages has.
LETTERS = {
    "ar": r"[\u0620-\u064a]",
    "ja": r"[\u3041-\u30fa\u4e00-\u9fff]",
    "pl": r"[łżźćńśęą]",
    "tr": r"[ğış]",
    "de": r"ß",
    "sv": r"å",
}

each_language = pytest.mark.parametrize("code", CODES)


def _messages(code: str) -> list[Message]:
    return [message for message in read(code) if message.id]


def test_the_languages_are_those_that_have_a_catalog() -> None:
    folders = {path.name for path in po_path("de").parents[2].iterdir() if path.is_dir()}
    assert folders == {language.code for language in LANGUAGES if language is not ENGLISH}


@each_language
def test_the_catalog_holds_what_the_source_says(code: str) -> None:
    assert po_path(code).read_text(encoding="utf-8") == render_po(update(code, collect())), RENEW


@each_language
def test_everything_is_translated_and_nothing_guessed(code: str) -> None:
    assert [message.id for message in untranslated(read(code))] == []


@each_language
def test_the_compiled_catalog_is_that_of_the_written_one(code: str) -> None:
    with po_path(code).with_suffix(".mo").open("rb") as file:
        compiled = vars(GNUTranslations(file))["_catalog"]
    written = {}
    for message in _messages(code):
        if isinstance(message.id, str):
            written[message.id] = message.string
        else:
            written |= {(message.id[0], form): text for form, text in enumerate(message.string)}
    # What is said of the file itself has the empty text for its key.
    assert {key: text for key, text in compiled.items() if key} == written


@each_language
def test_placeholders_and_tags_are_those_of_the_source(code: str) -> None:
    """A form for one or two things may leave the number out; the others name all there is."""
    wrong = []
    for message in _messages(code):
        texts = message.string if isinstance(message.string, tuple | list) else [message.string]
        source = message.id if isinstance(message.id, str) else message.id[1]
        wanted, tags = set(PLACEHOLDER.findall(source)), sorted(TAG.findall(source))
        for text in texts:
            found = set(PLACEHOLDER.findall(text))
            may_lack = {"num"} if len(texts) > 1 else set()
            # A lone percent sign would be read as a placeholder when the values are put in.
            is_plain = "%" not in PLACEHOLDER.sub("", text)
            is_complete = wanted - may_lack <= found <= wanted and sorted(TAG.findall(text)) == tags
            if not (is_plain and is_complete):
                wrong.append((source, text))
        if set(PLACEHOLDER.findall(texts[-1])) != wanted:
            wrong.append((source, texts[-1]))
    assert wrong == []


@each_language
def test_no_text_is_left_in_english(code: str) -> None:
    """But for one or two words, which may be the same in both, such as "Widget" or "Error:"."""
    same = {"%(count)s of %(limit)s"}
    left = [
        message.id
        for message in _messages(code)
        if isinstance(message.id, str)
        and message.string == message.id
        and message.id not in same
        and len(WORD.findall(PLACEHOLDER.sub("", TAG.sub("", message.id)))) > SHORT
    ]
    assert left == []


@each_language
def test_no_text_is_in_the_letters_of_another_language(code: str) -> None:
    foreign = [letters for language, letters in LETTERS.items() if language != code]
    wrong = [
        message.id
        for message in _messages(code)
        if any(re.search(letters, str(message.string)) for letters in foreign)
    ]
    assert wrong == []
