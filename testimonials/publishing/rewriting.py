"""What changes in an answer of the service when it becomes a file of a static host.

Pictures are the host's too, links within the service become absolute, and a page carries its policy
itself, since the host knows none.
"""

import re

from markupsafe import escape

from testimonials.core.urls import app_url, base_url, image_url, published_url

STATIC = "static"
# Stands for an id in an address.
PLACE = "PLACE"

_SWITCH = re.compile(r'(?<= )href="\?lang=([a-z]+)"')
_LINK = re.compile(r'(?<= )(href|src|data-seen)="/(?!/)([^"]*)"')
_HEAD = '<meta charset="utf-8">'


def folder_of(project_id: str) -> str:
    """Return the folder of a project, which holds all that is published of it."""
    return f"widget/{project_id}"


def name_file(kind: str, query: dict[str, str], ending: str) -> str:
    """Return the name of a file, in which the query is as the script writes it."""
    return kind + "".join(f".{name}-{value}" for name, value in query.items()) + ending


def move_pictures(text: str, project_id: str) -> tuple[str, set[str]]:
    """Let the pictures of the service come from the project's folder; return their names too."""
    address = re.escape(image_url(PLACE) or "").replace(PLACE, "([0-9a-f]{24})")
    pattern = re.compile(address)
    found = {f"{name}.webp" for name in pattern.findall(text)}
    return pattern.sub(rf"{published_url(folder_of(project_id))}/\1.webp", text), found


def move_page(text: str, slug: str, policy: str) -> str:
    """Let a page work on another host: its links, its switch of languages, its policy."""

    def move(found: re.Match[str]) -> str:
        name, path = found.groups()
        if switch := re.fullmatch(rf"{re.escape(slug)}/wall\?lang=([a-z]+)", path):
            return f'{name}="wall.lang-{switch[1]}.html"'
        if name == "data-seen":
            # The page's policy allows this one.
            return f'{name}="{base_url()}/{path}"'
        is_file = path.startswith(f"{STATIC}/")
        return f'{name}="{published_url(path) if is_file else f"{app_url()}/{path}"}"'

    # A page can't say itself who may frame it.
    rules = (rule.strip() for rule in policy.split(";"))
    own = "; ".join(rule for rule in rules if not rule.startswith("frame-ancestors "))
    meta = f'{_HEAD}\n<meta http-equiv="Content-Security-Policy" content="{escape(own)}">'
    text = _SWITCH.sub(r'href="wall.lang-\1.html"', text)
    return _LINK.sub(move, text).replace(_HEAD, meta, 1)
