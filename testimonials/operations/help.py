"""Help for people: ten pages, each a picture and a few sentences, and the search over them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from flask import Response, render_template, request, url_for

from testimonials.auth.cookies import THEME, read_cookie, read_session_cookie
from testimonials.auth.sessions import SignedIn, find_session
from testimonials.core.http.blueprints import site
from testimonials.core.http.i18n import gettext_noop, translate, use_language
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


@dataclass(frozen=True)
class Topic:
    """One page: its name, a line below that, what to do, and the page of the dashboard for it."""

    title: str
    summary: str
    steps: tuple[str, ...]
    endpoint: str


TOPICS = {
    "brand": Topic(
        gettext_noop("Make it look like yours"),
        gettext_noop("Brand, once, for everything"),
        (
            gettext_noop("Open Settings, then Brand. Give it a name, a logo and one colour."),
            gettext_noop(
                "The shades around that colour, and the colour of the text on it, follow by "
                "themselves, in the light and in the dark."
            ),
            gettext_noop("Widget, page, wall, mails and table card use it at once."),
            gettext_noop(
                "Something should differ in one place? Set it there. It keeps its own until you "
                "choose the brand’s again."
            ),
        ),
        "dashboard.settings.show_brand",
    ),
    "ask": Topic(
        gettext_noop("Ask your first ten"),
        gettext_noop("What to write, when, to whom"),
        (
            gettext_noop(
                "Think of ten people who have thanked you. They are the ones who will write."
            ),
            gettext_noop(
                "Open Collect and paste their addresses. Each gets a mail with a link of their own."
            ),
            gettext_noop(
                "Read the mail once, and change what doesn’t sound like you. Two sentences do."
            ),
            gettext_noop("Ask soon after you met, while they remember the details."),
            gettext_noop("Who says no isn’t asked again."),
        ),
        find_place("collect"),
    ),
    "card": Topic(
        gettext_noop("A card for the counter"),
        gettext_noop("Print the QR code"),
        (
            gettext_noop("Collect has a QR code, and a card with it to print."),
            gettext_noop(
                "Put the card where people wait: at the till, at the mirror, in the parcel."
            ),
            gettext_noop("The code opens your page. Nobody needs an account or an app for it."),
            gettext_noop("It stays the same when you change what the page says or looks like."),
        ),
        find_place("collect"),
    ),
    "decide": Topic(
        gettext_noop("Approve, reject, edit"),
        gettext_noop("One tap, from the mail too"),
        (
            gettext_noop("New ones wait in the inbox. Nobody sees them until you approve."),
            gettext_noop("What you reject is shown nowhere, and its stars count."),
            gettext_noop("What isn’t genuine, such as spam, you set aside: then they don’t."),
            gettext_noop("Mend a typing error if you like: what was sent is kept beside it."),
            gettext_noop(
                "The mail about a new one leads to the same buttons. Opening it decides nothing."
            ),
            gettext_noop("Changed your mind? Undo takes back your last decision."),
        ),
        find_place("inbox"),
    ),
    "site": Topic(
        gettext_noop("Put it on your site"),
        gettext_noop("WordPress, Shopify, Webflow, Wix"),
        (
            gettext_noop(
                "Open Widget, then “Add to your site”, and choose what your site is made with."
            ),
            gettext_noop("Copy the snippet, and paste it where the steps say."),
            gettext_noop("Somebody else looks after your site? Mail them the steps."),
            gettext_noop(
                "Later changes need no new snippet: press Publish, and your site follows."
            ),
        ),
        find_place("widget"),
    ),
    "media": Topic(
        gettext_noop("Video and voice"),
        gettext_noop("What your customers see"),
        (
            gettext_noop("Switch on video or voice in the settings of your page."),
            gettext_noop(
                "Who would rather speak than write presses one button, on the phone or at a desk."
            ),
            gettext_noop("They look at it before they send it, and may begin again."),
            gettext_noop(
                "It waits in the inbox like any other. Type what is said, so that everybody can "
                "read it."
            ),
        ),
        find_place("collect"),
    ),
    "order": Topic(
        gettext_noop("What shows first"),
        gettext_noop("Order, pins, only some"),
        (
            gettext_noop("The newest come first, by themselves."),
            gettext_noop("Pin one, and it stays on top. The menu of each has that."),
            gettext_noop(
                "In Widget, Order lets you put them in a row of your own: drag, or move them up "
                "and down."
            ),
            gettext_noop("Or show only those with a tag, or those that you chose by hand."),
        ),
        find_place("widget"),
    ),
    "people": Topic(
        gettext_noop("Work with others"),
        gettext_noop("Who may do what"),
        (
            gettext_noop(
                "Open Settings, then People. Type an address, choose a role, press Invite."
            ),
            gettext_noop(
                "“Reads” sees the inbox and changes nothing. “Decides” works in it. “Manages” may "
                "do everything but delete the project."
            ),
            gettext_noop("An invitation counts for one project, or for all of yours."),
            gettext_noop("Who did what stands beside each testimonial, and in the record."),
        ),
        "dashboard.people.show_people",
    ),
    "domain": Topic(
        gettext_noop("A domain of your own"),
        gettext_noop("Your name in the address"),
        (
            gettext_noop(
                "Open Settings, then “Domain of your own”, and type a name such as "
                "words.example.com."
            ),
            gettext_noop("Copy the records that you see to where your domain is managed."),
            gettext_noop("That takes minutes, sometimes hours. The page says what it found."),
            gettext_noop("Then your page and your wall are there, and only your name is on them."),
        ),
        "dashboard.settings.show_domain",
    ),
    "agent": Topic(
        gettext_noop("Let an agent do it"),
        gettext_noop("It works, you decide"),
        (
            gettext_noop(
                "Open Settings, then “API and developers”, and connect your assistant. It can do "
                "most of what you can."
            ),
            gettext_noop("You choose what it may do: only look, suggest, or change things."),
            gettext_noop("What it suggests waits in your inbox until you say yes."),
            gettext_noop("All that it did is on record, and you can end its access at any time."),
        ),
        "dashboard.settings.show_agents",
    ),
}
# What else is found: the rows of Settings.
ROWS = (
    (gettext_noop("Brand"), "dashboard.settings.show_brand"),
    (gettext_noop("Address"), "dashboard.settings.show_address"),
    (gettext_noop("Domain of your own"), "dashboard.settings.show_domain"),
    (gettext_noop("Stars in search results"), "dashboard.settings.show_stars"),
    (gettext_noop("People"), "dashboard.people.show_people"),
    (gettext_noop("Mail to you"), "dashboard.settings.show_mail"),
    (gettext_noop("Import and export"), "dashboard.settings.show_import"),
    (gettext_noop("API and developers"), "dashboard.settings.show_developers"),
    (gettext_noop("Delete this project…"), "dashboard.settings.show_deletion"),
)


@site.get("/help")
def show_help() -> Response:
    """Show the ten pages, or of them and the rows of Settings what ``?q=`` finds."""
    access = _enter()
    q = request.args.get("q", "").replace("\0", "").strip()[:MAX_SEARCH]
    topics = {name: describe(topic) for name, topic in TOPICS.items()}
    rows = [(translate(label), _url(endpoint, access)) for label, endpoint in ROWS]
    return _render(
        "help/index.html",
        q=q,
        topics=topics,
        pictured=PICTURED,
        found=_rank(q, ((name, each["title"], each["all"]) for name, each in topics.items())),
        rows=_rank(q, ((row, row[0], row[0]) for row in rows if row[1])),
    )


@site.get("/help/<any(brand, ask, card, decide, site, media, order, people, domain, agent):topic>")
def show_help_page(topic: str) -> Response:
    access = _enter()
    found = TOPICS[topic]
    return _render(
        "help/topic.html", name=topic, topic=describe(found), url=_url(found.endpoint, access)
    )


def describe(topic: Topic) -> dict[str, Any]:
    """Return a topic's words in the page's language; `all` is what is searched."""
    words = {"title": translate(topic.title), "summary": translate(topic.summary)}
    steps = [translate(step) for step in topic.steps]
    return words | {"steps": steps, "all": " ".join([*words.values(), *steps])}


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
