"""What a browser is called, Firefox on Windows, and a program, curl/8.5.0."""

import re

from testimonials.core.web.languages import gettext, gettext_noop, translate

BROWSERS = ("Edg", "OPR", "Firefox", "Chrome", "Safari")
SYSTEMS = ("Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux")
NAMES = {"Edg": "Edge", "OPR": "Opera", "Mac OS": "Mac"}
UNKNOWN = gettext_noop("A browser")
UNNAMED = gettext_noop("an unnamed program")
# Its first word and version: nothing in which a mail program would see a link.
_PROGRAM = re.compile(r"[A-Za-z][\w+-]{0,39}(?:/\d[\d.]{0,15})?", re.ASCII)


def describe_program(user_agent: str) -> str:
    """Return a label for what calls the API, as it is stored; strangers choose the words."""
    browser = describe_browser(user_agent)
    if not browser.startswith(UNKNOWN):
        return browser
    found = _PROGRAM.match(user_agent)
    return found[0] if found else UNNAMED


def describe_browser(user_agent: str) -> str:
    """Return a label for a browser, as it is stored: in English."""
    browser = next((name for name in BROWSERS if name in user_agent), UNKNOWN)
    system = next((name for name in SYSTEMS if name in user_agent), "")
    words = [NAMES.get(browser, browser), NAMES.get(system, system)]
    return " on ".join(word for word in words if word)


def translate_browser(label: str) -> str:
    """Return a label of `describe_browser` in the current language."""
    browser, _, system = label.partition(" on ")
    browser = translate(browser)
    return (
        gettext("%(browser)s on %(system)s", browser=browser, system=system) if system else browser
    )
