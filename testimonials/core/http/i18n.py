"""The languages of pages: choosing one, translating messages, and formatting numbers and dates.

English is in the code and the templates; other languages are gettext catalogs, loaded on first use.
A response is English unless its view chooses otherwise: public pages follow the visitor
(`use_visitors_language`), pages of signed-in people their account or browser (`use_language`). The
API, the operator's pages and mail to owners are always English.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache, lru_cache
from gettext import GNUTranslations, NullTranslations
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from flask import Flask, Response, g, has_request_context, request
from markupsafe import Markup, escape
from werkzeug.datastructures import LanguageAccept
from werkzeug.exceptions import HTTPException
from werkzeug.http import parse_accept_header

from testimonials.core.settings.table import count_days

TRANSLATIONS = Path(__file__).parents[2] / "translations"
# The patterns of dates in each language; the widget's script has them too.
DATES = TRANSLATIONS.parent / "static" / "widget" / "dates.json"
# The year in a date, with what joins it to the month.
YEAR = re.compile(r"\{year\}年|(?: de)? \{year\}")
DOMAIN = "messages"
# What gettext puts between the context of a message and the message.
CONTEXT_END = "\x04"
PARAMETER = "lang"
# The links of the language switch repeat the query unless it is longer, which ours never are.
MAX_QUERY_LENGTH = 2000
# How much of an Accept header is read; browsers send less.
MAX_ACCEPT_LENGTH = 1000


@dataclass(frozen=True)
class Language:
    code: str
    name: str
    direction: str = "ltr"
    thousands: str = ","
    percent: str = "{}%"
    # Whether the dashboard and the sign-in pages are translated too.
    has_dashboard: bool = False

    @property
    def decimal(self) -> str:
        return "." if self.thousands == "," else ","

    @property
    def signs(self) -> str:
        """The decimal and thousands separators, for scripts."""
        return self.decimal + self.thousands


ENGLISH = Language("en", "English", has_dashboard=True)
# In the order of the language switch: by name, with other scripts last.
LANGUAGES = (
    Language("de", "Deutsch", thousands=".", percent="{}\u00a0%", has_dashboard=True),
    ENGLISH,
    Language("es", "Español", thousands=".", percent="{}\u00a0%", has_dashboard=True),
    Language("fr", "Français", thousands="\u202f", percent="{}\u202f%", has_dashboard=True),
    Language("it", "Italiano", thousands=".", has_dashboard=True),
    Language("nl", "Nederlands", thousands=".", has_dashboard=True),
    Language("pl", "Polski", thousands="\u00a0"),
    Language("pt", "Português", thousands="."),
    Language("sv", "Svenska", thousands="\u00a0", percent="{}\u00a0%"),
    Language("tr", "Türkçe", thousands=".", percent="%{}"),
    Language("ja", "日本語"),
    Language("ar", "العربية", direction="rtl", has_dashboard=True),
)
DASHBOARD_LANGUAGES = tuple(language for language in LANGUAGES if language.has_dashboard)
_BY_CODE = {language.code: language for language in LANGUAGES}

_spoken: ContextVar[Language | None] = ContextVar("spoken_language", default=None)


def find_language(tag: str) -> Language | None:
    """Return the language of a tag such as ``de`` or ``de-AT``, or None."""
    return _BY_CODE.get(tag.strip().lower().replace("_", "-").partition("-")[0])


def current_language() -> Language:
    """Return the language set by `speaking`, else the request's, else English."""
    if (spoken := _spoken.get()) is not None:
        return spoken
    if not has_request_context() or not g.get("is_translated"):
        return ENGLISH
    if "language" not in g:
        g.language = choose_language()
    language: Language = g.language
    return language


def use_visitors_language() -> None:
    """Answer this request in the visitor's language, unless it is for the API."""
    g.is_translated = not request.path.startswith("/v1/")


def use_language(code: str | None = None) -> None:
    """Answer this request in the dashboard language `code`, or else in the browser's.

    The parameter ``lang`` is ignored: in the dashboard it is the language of what is edited.
    """
    chosen = find_language(code or "")
    if chosen is None or not chosen.has_dashboard:
        chosen = _read_language(DASHBOARD_LANGUAGES)
    g.language = chosen or ENGLISH
    g.is_translated = True


def prefer_language(code: str) -> None:
    """Answer this request in the language `code`, unless its URL or form asks for another."""
    if (language := find_language(code)) is not None and asked_language() is None:
        g.language = language


@contextmanager
def speaking(code: str | None) -> Iterator[Language]:
    """Use the language `code`, or English, within the block, such as for somebody else's mail."""
    language = find_language(code or "") or ENGLISH
    token = _spoken.set(language)
    try:
        yield language
    finally:
        _spoken.reset(token)


def choose_language() -> Language:
    """Return the language that the URL, the form, or the browser asks for."""
    return asked_language() or _read_language() or ENGLISH


def _read_language(among: tuple[Language, ...] = LANGUAGES) -> Language | None:
    return match_language(request.headers.get("Accept-Language", "")[:MAX_ACCEPT_LENGTH], among)


@lru_cache(maxsize=500)
def match_language(accepted: str, among: tuple[Language, ...] = LANGUAGES) -> Language | None:
    """Return the language in `among` that an Accept-Language header prefers, if there is one."""
    # The preferred tag comes first. Regions are ignored, so that somebody who prefers Austrian
    # German to English gets German; matching exact tags first would give English.
    for tag, quality in parse_accept_header(accepted, LanguageAccept):
        if quality > 0 and (language := find_language(tag)) in among:
            return language
    return None


def asked_language() -> Language | None:
    """Return the language chosen by ``?lang=`` or a form's field, or None."""
    if (language := find_language(request.args.get(PARAMETER, ""))) is not None:
        return language
    try:
        return find_language(request.form.get(PARAMETER, ""))
    except HTTPException:
        # The form is too large to read, and the page that says so needs a language.
        return None


def language_query() -> dict[str, Any]:
    """Return the query parameter that keeps the chosen language in the next URL."""
    language = asked_language()
    return {PARAMETER: language.code} if language else {}


def translate(message: str) -> str:
    """Return `message` in the current language, with its placeholders."""
    text = _load(current_language().code).gettext(message) if message else ""
    return text.rpartition(CONTEXT_END)[2]


def gettext(message: str, **values: object) -> str:
    """Return `message` in the current language, with `values` in its %(name)s placeholders."""
    return translate(message) % values if values else translate(message)


def ngettext(one: str, many: str, number: int, **values: object) -> str:
    """Return the plural form for `number` in the current language; %(num)s becomes `number`."""
    return _translate_plural(one, many, number) % ({"num": format_number(number)} | values)


def gettext_noop(message: str) -> str:
    """Mark a constant, which is translated where it is shown."""
    return message


def pgettext_noop(context: str, message: str) -> str:
    """Mark a constant that other languages say differently elsewhere, for example as a verb."""
    return context + CONTEXT_END + message


def ngettext_noop(one: str, many: str) -> Callable[[int], str]:
    """Mark a plural; return a function that translates it for a number."""
    return lambda number: ngettext(one, many, number)


def isolate(text: str, *names: str) -> Markup:
    """Return `text` with each of `names` in <bdi>, so that another script can't reorder it."""
    escaped = sorted((str(escape(name)) for name in names if name), key=len, reverse=True)
    pattern = "|".join(map(re.escape, escaped)) or r"(?!)"
    # Both are escaped already.
    return Markup(re.sub(pattern, r"<bdi>\g<0></bdi>", str(escape(text))))  # noqa: S704


def format_average(number: float) -> str:
    """Return a number with one decimal place, in the format of the language."""
    return f"{number:.1f}".replace(".", current_language().decimal)


def format_number(number: int) -> str:
    """Return a whole number, with thousands separators if it has five digits or more."""
    if abs(number) < 10_000:
        return str(number)
    return f"{number:,}".replace(",", current_language().thousands)


def format_figure(number: int) -> str:
    """Return a number for the dashboard, with separators from four digits on in English."""
    return f"{number:,}" if current_language() is ENGLISH else format_number(number)


def format_percent(number: int) -> str:
    return current_language().percent.format(format_figure(number))


def format_day(time: date, style: str = "short", *, has_year: bool = True) -> str:
    """Return the date of a time: 12 Mar 2026, or with the whole month if `style` is "long"."""
    if current_language() is ENGLISH:
        month = f"{time:%B}" if style == "long" else f"{time:%b}"
        pattern = f"{{day}} {month} {{year}}"
    else:
        pattern = read_date_patterns()[current_language().code][f"{style} day"][time.month - 1]
    if not has_year:
        pattern = YEAR.sub("", pattern)
    return pattern.format(day=time.day, year=time.year)


def format_time(time: datetime, style: str = "short") -> str:
    """Return a time to the minute in UTC, since the reader's time zone is unknown."""
    return gettext("%(day)s, %(time)s UTC", day=format_day(time, style), time=f"{time:%H:%M}")


@cache
def read_date_patterns() -> dict[str, dict[str, list[str]]]:
    """Return the patterns of dates by language and style, one for each month."""
    return dict(json.loads(DATES.read_text(encoding="utf-8")))


def list_switches() -> list[dict[str, object]]:
    """Return the links of the language switch: this page in each language."""
    is_kept = len(request.query_string) <= MAX_QUERY_LENGTH
    values = request.args.items(multi=True) if is_kept else ()
    kept = [(name, value) for name, value in values if name != PARAMETER]
    current = current_language()
    return [
        {
            "language": language,
            "url": f"?{urlencode([*kept, (PARAMETER, language.code)])}",
            "is_current": language is current,
        }
        for language in LANGUAGES
    ]


def register_languages(app: Flask) -> None:
    app.jinja_env.add_extension("jinja2.ext.i18n")
    # The extension fills in the values itself, escaped.
    app.jinja_env.install_gettext_callables(  # type: ignore[attr-defined]
        translate, _translate_plural, newstyle=True, pgettext=_translate_in_context
    )
    app.jinja_env.globals.update(
        count_days=count_days,
        current_language=current_language,
        dashboard_languages=DASHBOARD_LANGUAGES,
        languages=LANGUAGES,
        list_switches=list_switches,
        format_average=format_average,
        format_number=format_number,
        isolate=isolate,
    )
    app.jinja_env.filters.update(
        translated=translate,
        figure=format_figure,
        percent=format_percent,
        day=format_day,
        time=format_time,
    )
    app.after_request(_add_headers)


def _translate_in_context(context: str, message: str) -> str:
    return translate(pgettext_noop(context, message))


def _translate_plural(one: str, many: str, number: int) -> str:
    return _load(current_language().code).ngettext(one, many, number)


def _read_catalog(code: str) -> NullTranslations:
    if code == ENGLISH.code:
        return NullTranslations()
    path = TRANSLATIONS / code / "LC_MESSAGES" / f"{DOMAIN}.mo"
    with path.open("rb") as file:
        translations = GNUTranslations(file)
    # All catalogs have the same keys: sharing them saves a third of the memory.
    vars(translations)["_catalog"] = {
        sys.intern(english) if isinstance(english, str) else english: text
        for english, text in vars(translations)["_catalog"].items()
    }
    return translations


_load = cache(_read_catalog)


@cache
def translate_to_all(message: str) -> frozenset[str]:
    """Return the message in each language of the dashboard, without keeping the catalogs."""
    return frozenset(_read_catalog(each.code).gettext(message) for each in DASHBOARD_LANGUAGES)


def _add_headers(response: Response) -> Response:
    if g.get("is_translated") and response.mimetype == "text/html":
        response.vary.add("Accept-Language")
        response.headers["Content-Language"] = current_language().code
    return response
