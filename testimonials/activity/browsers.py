"""What a browser is called: Firefox on Windows."""

from testimonials.core.web.languages import gettext, gettext_noop, translate

BROWSERS = ("Edg", "OPR", "Firefox", "Chrome", "Safari")
SYSTEMS = ("Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux")
NAMES = {"Edg": "Edge", "OPR": "Opera", "Mac OS": "Mac"}
UNKNOWN = gettext_noop("A browser")


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
