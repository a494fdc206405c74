"""Help for people: ten pages, each a picture and a few sentences, and the search over them."""

import re
from collections.abc import Iterator
from typing import Any, TypeVar

from flask import Response, current_app, render_template, request, url_for

from testimonials.auth.cookies import THEME, read_cookie, read_session_cookie
from testimonials.auth.sessions import SignedIn, find_session
from testimonials.core.http.blueprints import site
from testimonials.core.http.i18n import use_language
from testimonials.core.http.security import answer_privately
from testimonials.dashboard.shell import THEMES, find_place, list_switched
from testimonials.projects.access import Access, Right, StrongSignInNeeded, find_access
from testimonials.testimonials.samples import find_face, write_samples

Found = TypeVar("Found")

MAX_SEARCH = 200
# Shorter words tell nothing of what somebody looks for.
LEAST_LETTERS = 3
PICTURED = 6
BUSINESS = "Oat & Ember"


@site.get("/help")
def show_help() -> Response:
    """Show the ten pages, or of them and the rows of Settings what ``?q=`` finds."""
    access = _enter()
    q = request.args.get("q", "").replace("\0", "").strip()[:MAX_SEARCH]
    words = read_words()
    rows = [(label, _url(endpoint, access)) for label, endpoint in words.rows]
    return _render(
        "help/index.html",
        q=q,
        topics=words.topics,
        pictured=PICTURED,
        found=_rank(q, map(_list_words, words.topics.items())),
        rows=_rank(q, ((row, row[0], row[0]) for row in rows if row[1])),
    )


@site.get("/help/<any(brand, ask, card, decide, site, media, order, people, domain, agent):topic>")
def show_help_page(topic: str) -> Response:
    access = _enter()
    found = read_words().topics[topic]
    return _render("help/topic.html", name=topic, topic=found, url=_url(found["endpoint"], access))


def read_words() -> Any:
    """Return what the help says in the page's language: its `topics`, and `rows` of Settings."""
    return current_app.jinja_env.get_template("help/_topics.html").make_module()


def _list_words(topic: tuple[str, dict[str, Any]]) -> tuple[str, str, str]:
    name, found = topic
    return name, found["title"], " ".join([found["title"], found["summary"], *found["steps"]])


def _enter() -> Access | None:
    """Speak the reader's language; return their access to the project that they opened last."""
    owner: SignedIn | None = find_session(read_session_cookie())
    use_language(owner.language if owner else None)
    projects = list_switched(owner, None) if owner else []
    if owner is None or not projects:
        return None
    try:
        return find_access(owner, projects[0].id, Right.LOOK)
    except StrongSignInNeeded:
        return None


def _url(endpoint: str, access: Access | None) -> str | None:
    """Return where one may go: colleagues who only read or decide see the inbox alone."""
    is_theirs = access is not None and (access.is_admin or endpoint == find_place("inbox"))
    return url_for(endpoint, project_id=access.project.id) if access and is_theirs else None


def _render(template: str, **values: Any) -> Response:
    theme = read_cookie(THEME)
    page = render_template(
        template,
        page_theme=theme if theme in THEMES else "system",
        brand={"name": BUSINESS, "logo_url": None},
        samples=[
            {
                "name": each["author_name"],
                "face": find_face(each["author_name"], each["author_role"]),
                "rating": each["rating"],
                "text": each["text"].replace(f"{BUSINESS} Bakery", BUSINESS),
            }
            for each in write_samples(f"{BUSINESS} Bakery")
        ],
        **values,
    )
    return answer_privately(page)


def _rank(q: str, among: Iterator[tuple[Found, str, str]]) -> list[Found]:
    """Return those that have words of `q`, best first: a word in the title counts for more."""
    words = [word for word in _split(q) if len(word) >= LEAST_LETTERS]
    scored = [
        (3 * _count(words, title) + _count(words, everything), found)
        for found, title, everything in among
    ]
    scored.sort(key=lambda each: -each[0])
    return [found for score, found in scored if score]


def _count(words: list[str], text: str) -> int:
    known = _split(text)
    return sum(any(each.startswith(word[:6]) for each in known) for word in words)


def _split(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
