"""What changes in an answer of the service when it becomes a file of a static host.

Pictures are the host's too, links within the service become absolute, and a page carries its policy
itself, since the host knows none.
"""

import re

from markupsafe import escape
from sqlalchemy import select

from testimonials.core.pictures.images import Image
from testimonials.core.urls import app_url, base_path, base_url, image_url, published_url
from testimonials.extensions import db

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
    """Let the pictures of the service come from the project's folder; return their names too.

    Anybody's words may look like the address of one: that stands alone, and there is one.
    """
    address = re.escape(image_url(PLACE) or "").replace(PLACE, "([0-9a-f]{24})")
    pattern = re.compile(f'(?<="){address}(?=")')
    found = _find_shown(set(pattern.findall(text)))

    def move(match: re.Match[str]) -> str:
        own = f"{published_url(folder_of(project_id))}/{match[1]}.webp"
        return own if match[1] in found else match[0]

    return pattern.sub(move, text), {f"{id}.webp" for id in found}


def _find_shown(ids: set[str]) -> set[str]:
    """Return the ids of pictures that the service shows."""
    query = select(Image.id).where(Image.id.in_(ids), Image.is_held.is_(False))
    shown = set(db.session.scalars(query)) if ids else set()
    db.session.remove()
    return shown


def move_page(text: str, slug: str, policy: str) -> str:
    """Let a page work on another host: its links, its switch of languages, its policy."""

    def move(found: re.Match[str]) -> str:
        name, path = found.groups()
        path = path.removeprefix(f"{base_path()}/".lstrip("/"))
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
