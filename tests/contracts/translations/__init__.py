"""The catalogs: collect the messages, update each language, compile.

    python -m tests.contracts.translations

Run it after changing a text; then fill in the empty ``msgstr`` and run it again.
"""

import ast
import io
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from babel.messages import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from setup import compile_catalogs
from testimonials.core.http.i18n import (
    DASHBOARD_LANGUAGES,
    DOMAIN,
    ENGLISH,
    LANGUAGES,
    TRANSLATIONS,
)

PACKAGE = TRANSLATIONS.parent
METHODS = [("**.py", "python"), ("templates/**", "jinja2.ext.babel_extract")]
KEYWORDS = {
    "_": None,
    "gettext": None,
    "ngettext": (1, 2),
    "gettext_noop": None,
    "pgettext": ((1, "c"), 2),
    "pgettext_noop": ((1, "c"), 2),
    "ngettext_noop": (1, 2),
    # Its purpose is part of a sentence on the page that asks for a proof.
    "require_proof": None,
}
# The same, where a button of a page has it by name.
PURPOSE = "step_up"
# Files of texts: those called `texts` are translated where they are shown.
TEXTS = (
    "collection/consents.json", "projects/trades.json", "widget/looks.json", "widget/steps.json",
    "widget/words.json",
)  # fmt: skip
# A broken template is an error, not a file without messages.
OPTIONS = {"templates/**": {"silent": "false", "newstyle_gettext": "true"}}
# Nothing in the files depends on the day, so that a run without a change leaves them as they were.
VOLATILE = tuple(
    f'"{name}'
    for name in (
        "POT-Creation-Date", "PO-Revision-Date", "Generated-By", "Last-Translator", "Language-Team",
        "Report-Msgid-Bugs-To",
    )
)  # fmt: skip
CODES = [language.code for language in LANGUAGES if language is not ENGLISH]
# What only owners and their teams read, which not every language has.
OWNERS_PLACES = (
    "analytics/", "auth/", "collection/address_lists.py", "collection/changes.py",
    "collection/requests.py", "core/event_lists.py", "core/http/forms.py", "core/mail/",
    "dashboard/", "integrations/", "operations/", "projects/access.py", "projects/brand.py",
    "projects/domains.py", "projects/invitations.py", "projects/notifications.py",
    "projects/projects.py", "projects/proposals.py", "projects/settings.py", "projects/team.py",
    "projects/trades.json", "projects/website.py", "templates/agents/",
    "templates/auth/", "templates/dashboard/", "templates/help/", "templates/operator/",
    "templates/projects/", "testimonials/changes.py", "testimonials/highlights.py",
    "testimonials/moderation.py", "testimonials/new_numbers.py", "testimonials/notifications.py",
    "testimonials/tags.py", "testimonials/testimonials.py", "testimonials/undo.py", "transfer/",
    "testimonials/submissions.py", "widget/api.py", "widget/embed.py", "widget/looks.json",
    "widget/steps.json",
)  # fmt: skip


def po_path(code: str) -> Path:
    return TRANSLATIONS / code / "LC_MESSAGES" / f"{DOMAIN}.po"


def collect(code: str) -> Catalog:
    """Collect the messages that the language has: all of the package, or those of visitors."""
    return _collect(code in [language.code for language in DASHBOARD_LANGUAGES])


@cache
def _collect(has_dashboard: bool) -> Catalog:
    template = Catalog(project="testimonials", charset="utf-8", fuzzy=False)
    for path, message, comments, context in [*_extract(), *_list_others()]:
        is_owners = path.startswith(OWNERS_PLACES) or path.endswith("/events.py")
        if has_dashboard or not is_owners:
            template.add(message, auto_comments=comments, context=context)
    return template


@cache
def _extract() -> list[tuple[str, str | tuple[str, ...], list[str], str | None]]:
    """Find every message of the package; once, as reading all of it takes seconds."""
    found = extract_from_dir(
        PACKAGE,
        METHODS,
        OPTIONS,
        keywords=KEYWORDS,
        comment_tags=("Translators:",),
        strip_comment_tags=True,
    )
    return [
        (path, message, comments, context)
        for path, _, message, comments, context in sorted(found, key=lambda each: each[:2])
    ]


@cache
def _list_others() -> list[tuple[str, str, list[str], None]]:
    """Find what isn't marked: texts in files, the purposes of proofs that a button names, and what
    events say."""
    others = [
        (name, text, list[str](), None)
        for name in TEXTS
        for each in json.loads((PACKAGE / name).read_text()).values()
        for text in _list_texts(each["texts"])
    ]
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            found: Any = None
            if isinstance(node, ast.keyword) and node.arg == PURPOSE:
                found = node.value
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "EventType":
                found = node.args[1]
            if isinstance(found, ast.Constant):
                others.append((str(path.relative_to(PACKAGE)), found.value, list[str](), None))
    return others


def _list_texts(found: list[str] | dict[str, str]) -> Iterator[str]:
    return filter(None, found.values() if isinstance(found, dict) else found)


def read(code: str) -> Catalog:
    """Read a language, an empty one if it is new."""
    path = po_path(code)
    if not path.exists():
        return Catalog(locale=code, fuzzy=False)
    with path.open("rb") as file:
        return read_po(file, locale=code, abort_invalid=True)


def update(code: str, template: Catalog) -> Catalog:
    """Return the language with the messages of `template` and what is translated of them."""
    catalog = read(code)
    # A guess at a changed message would be shown to people; an empty one is asked for.
    catalog.update(template, no_fuzzy_matching=True)
    catalog.obsolete.clear()
    catalog.header_comment = "# The texts of the pages. Update with scripts/translate."
    catalog.project, catalog.version = "testimonials", "1"
    catalog.fuzzy = False
    return catalog


def render_po(catalog: Catalog) -> str:
    out = io.BytesIO()
    # Without the places, which would change with every file that is moved; `git grep` finds them.
    write_po(out, catalog, width=96, sort_output=True, no_location=True, ignore_obsolete=True)
    lines = out.getvalue().decode().splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(VOLATILE))


def untranslated(catalog: Catalog) -> Iterator[Message]:
    for message in catalog:
        texts = message.string if isinstance(message.string, tuple | list) else [message.string]
        if message.id and (not all(texts) or message.fuzzy):
            yield message


def main() -> int:
    """Update and compile every language; return 1 if something is untranslated."""
    missing: dict[str, list[str]] = {}
    for code in CODES:
        catalog = update(code, collect(code))
        po_path(code).parent.mkdir(parents=True, exist_ok=True)
        po_path(code).write_text(render_po(catalog), encoding="utf-8")
        empty = list(untranslated(catalog))
        print(f"{code}: {len(catalog) - len(empty)} of {len(catalog)} translated")
        for message in empty:
            text = message.id if isinstance(message.id, str) else message.id[0]
            missing.setdefault(text, []).append(code)
    compile_catalogs()
    for text, codes in missing.items():
        print(f"untranslated in {', '.join(codes)}: {text}")
    return 1 if missing else 0
