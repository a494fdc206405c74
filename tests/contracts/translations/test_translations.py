"""Every text is there in the languages that need it, and compiled (docs/languages.md)."""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from gettext import GNUTranslations

from jinja2 import nodes

from testimonials.core.http.i18n import ENGLISH, LANGUAGES
from tests.contracts.test_architecture import modules
from tests.contracts.translations import (
    CODES,
    collect,
    po_path,
    read,
    render_po,
    untranslated,
    update,
)

PLACEHOLDER = re.compile(r"%\((\w+)\)s")
TAG = re.compile(r"</?\w+[^>]*>")
WORD = re.compile(r"[^\W\d_]+")
SHORT = 2
SAME = {"%(count)s of %(limit)s"}
# Letters that only one of the languages has.
LETTERS = {
    "ar": r"[\u0620-\u064a]", "ja": r"[\u3041-\u30fa\u4e00-\u9fff]", "pl": r"[łżźćńśęą]",
    "tr": r"[ğış]", "de": r"ß", "sv": r"å",
}  # fmt: skip

# Short sentences may be the same in these.
ROMANCE = {"es", "fr", "it", "pt"}


def test_each_catalog_is_whole_compiled_and_in_its_language():
    folders = {path.name for path in po_path("de").parents[2].iterdir() if path.is_dir()}
    assert folders == {language.code for language in LANGUAGES if language is not ENGLISH}
    wrong = [f"{code}: {problem}" for code in CODES for problem in find_problems(code)]
    assert wrong == [], "\n".join(["", *wrong])


def test_no_two_languages_say_a_sentence_in_the_same_words():
    """Or one of them has the other's text."""
    said: dict[tuple[object, str], list[str]] = {}
    for code in CODES:
        for message in read(code):
            texts = [message.string] if isinstance(message.string, str) else message.string
            if message.id and len(WORD.findall(PLACEHOLDER.sub("", TAG.sub("", texts[0])))) > SHORT:
                said.setdefault((message.id, str(texts)), []).append(code)
    shared = {id: set(codes) for (id, _), codes in said.items() if len(codes) > 1}
    assert {id: codes for id, codes in shared.items() if not codes <= ROMANCE} == {}


def test_no_template_is_translated_while_it_is_compiled(app):
    """Jinja calls a filter of a constant then, in the language of whoever comes first."""
    env, called = app.jinja_env, set()
    for name in env.list_templates():
        for each in env.parse(env.loader.get_source(env, name)[0]).find_all(nodes.Filter):
            with suppress(nodes.Impossible):
                each.as_const(nodes.EvalContext(env))
                called.add(each.name)
    assert called == {"safe"}


def test_texts_in_two_numbers_are_written_where_they_are_used():
    """Or no catalog would have them."""
    hidden = [
        f"{name}:{node.lineno}"
        for name, module in modules().items()
        if name != "core.http.i18n"
        for node in module.nodes
        if isinstance(node, ast.Call) and getattr(node.func, "id", "").startswith("ngettext")
        if not all(isinstance(text, ast.Constant) for text in node.args[:2])
    ]
    assert hidden == []


def find_problems(code: str) -> Iterator[str]:
    catalog = read(code)
    if po_path(code).read_text(encoding="utf-8") != render_po(update(code, collect(code))):
        yield "it isn't what the source says: run scripts/translate"
    yield from (f"untranslated or guessed: {message.id}" for message in untranslated(catalog))
    foreign = [letters for language, letters in LETTERS.items() if language != code]
    written: dict[object, str] = {}
    for message in catalog:
        if not message.id:
            continue
        if isinstance(message.id, str):
            source, texts = message.id, [message.string]
            written["\x04".join(filter(None, [message.context, source]))] = message.string
            # One or two words may be the same in both, such as "Widget" or "Error:".
            words = WORD.findall(PLACEHOLDER.sub("", TAG.sub("", source)))
            if message.string == source and source not in SAME and len(words) > SHORT:
                yield f"left in English: {source}"
        else:
            source, texts = message.id[1], list(message.string)
            written |= {(message.id[0], form): text for form, text in enumerate(texts)}
        if not are_faithful(source, texts):
            yield f"other placeholders or tags than: {source}"
        if any(re.search(letters, str(texts)) for letters in foreign):
            yield f"in the letters of another language: {source}"
        if code == "fr" and any(re.search(r" [;:?!»]|« ", text) for text in texts):
            yield f"a line may break between a word and its sign: {source}"
    with po_path(code).with_suffix(".mo").open("rb") as file:
        compiled = vars(GNUTranslations(file))["_catalog"]
    # What is said of the file itself has the empty text for its key.
    if {key: text for key, text in compiled.items() if key} != written:
        yield "the compiled catalog is another one"


def are_faithful(source: str, texts: list[str]) -> bool:
    """Compare placeholders and tags; a form for one or two things may leave the number out."""
    wanted, tags = set(PLACEHOLDER.findall(source)), sorted(TAG.findall(source))
    may_lack = {"num"} if len(texts) > 1 else set()
    for text in texts:
        found = set(PLACEHOLDER.findall(text))
        # A lone percent sign would be read as a placeholder when the values are put in.
        is_plain = "%" not in PLACEHOLDER.sub("", text)
        is_complete = wanted - may_lack <= found <= wanted and sorted(TAG.findall(text)) == tags
        if not (is_plain and is_complete):
            return False
    return set(PLACEHOLDER.findall(texts[-1])) == wanted


def test_what_a_translator_gets_wrong_is_seen():
    """What the test above would show, if it could not fail."""
    for texts in (["Hallo"], ["%(name)s"], ["%(name)s <b>"], ["%(nom)s <b></b>"], ["% <b></b>"]):
        assert not are_faithful("Hi <b>%(name)s</b>", texts)
    assert are_faithful("%(num)s of %(name)s", ["eins von %(name)s", "%(num)s von %(name)s"])
    assert not are_faithful("%(num)s of %(name)s", ["eins von %(name)s", "viele von %(name)s"])
