"""Languages outside a request, and what a process reads of them."""

import subprocess
import sys

import pytest

from testimonials.core.http.i18n import (
    LANGUAGES,
    current_language,
    find_language,
    format_number,
    gettext,
    ngettext,
    speaking,
)
from testimonials.core.mail.outbox import render_mail

NOTICE = {"title": "x", "lines": ["y"], "link": "https://l.example/?a=1&b=2", "button": "z"}


def test_english_is_spoken_unless_another_is_asked_for():
    assert current_language().code == "en"
    with speaking("de"):
        assert gettext("Thank you") == "Vielen Dank"
        with speaking("fr"):
            assert gettext("Thank you") == "Merci"
        assert gettext("Thank you") == "Vielen Dank"
    assert gettext("Thank you") == "Thank you"
    for code in (None, "", "xx", "en"):
        with speaking(code) as language:
            assert language.code == "en"
            assert ngettext("%(num)s star", "%(num)s stars", 2) == "2 stars"
    found = {tag: find_language(tag) for tag in ("de", "de-AT", "pt_BR", " JA-jp ", "zh", "", "d")}
    assert [language and language.code for language in found.values()] == [
        "de", "de", "pt", "ja", None, None, None
    ]  # fmt: skip


def test_each_language_counts_and_groups_numbers_in_its_own_way():
    for code, number, text in (
        ("en", 1, "1 star"), ("en", 0, "0 stars"), ("fr", 0, "0 étoile"), ("fr", 2, "2 étoiles"),
        ("ja", 1, "星1つ"), ("ja", 5, "星5つ"), ("tr", 1, "1 yıldız"), ("tr", 5, "5 yıldız"),
        ("pl", 1, "1 gwiazdka"), ("pl", 3, "3 gwiazdki"), ("pl", 12, "12 gwiazdek"),
        ("pl", 22, "22 gwiazdki"), ("ar", 0, "بلا نجوم"), ("ar", 1, "نجمة واحدة"),
        ("ar", 2, "نجمتان"), ("ar", 3, "3 نجوم"), ("ar", 11, "11 نجمة"), ("ar", 100, "100 نجمة"),
    ):  # fmt: skip
        with speaking(code):
            assert ngettext("%(num)s star", "%(num)s stars", number) == text
    written = {}
    for language in LANGUAGES:
        with speaking(language.code):
            written[language.code] = format_number(1234567)
            assert format_number(2000) == "2000"
    assert (written["en"], written["de"]) == ("1,234,567", "1.234.567")
    assert written["sv"] == written["pl"] == "1\u00a0234\u00a0567"
    assert written["fr"] == "1\u202f234\u202f567"


def test_a_mail_is_in_the_language_of_its_reader(app):
    values = NOTICE | {"footnote": "f"}
    with app.app_context():
        mail = render_mail("notice", values, "ar")
    page, text = mail["html"], mail["text"]
    assert '<html lang="ar" dir="rtl">' in page
    assert page.count('lang="ar" dir="rtl"') == 2
    assert "أرسله Testimonials،" in page
    assert "أرسله Testimonials، https://testimonials.example.com" in text
    with app.app_context():
        assert '<html lang="en" dir="ltr">' in render_mail("notice", values)["html"]


@pytest.mark.thorough
def test_no_catalog_is_read_before_somebody_needs_it():
    """And none of what makes the catalogs is needed to run: Babel is for developers alone."""
    code = (
        "import sys; from testimonials import create_app; create_app();"
        "from testimonials.core.http import i18n as languages;"
        "assert languages._load.cache_info().currsize == 0; assert 'babel' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
