"""Every door of the service, read from the URL map, against everybody whom it is not for."""

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from selectolax.lexbor import LexborHTMLParser
from werkzeug.test import TestResponse

from testimonials.core.http.signing import TokenPurpose
from testimonials.dashboard.moved import MOVED
from tests.attacks.conftest import restore
from tests.attacks.forms import crawl
from tests.attacks.world import NAME, ROLES, SECRET, SLUG, UNKNOWN, Door, World, find_doors
from tests.auth.browsers import COOKIE
from tests.auth.links import ORIGIN
from tests.support.rows import everything
from tests.support.sampling import mostly_thorough

HELP = "/help/<any(brand, ask, card, decide, site, media, order, people, domain, agent):topic>"
# What anybody may open, and why. Every other door is kept by a session (/dashboard), a key (/v1) or
# the link that leads to it (<token>).
PUBLIC = {
    "It is about the service, not about anybody in it.": {
        "/", "/dashboard/brand.css", "/docs", "/favicon.ico", "/healthz", "/help", HELP,
        "/llms.txt", "/llms-full.txt", "/metrics", "/readyz", "/robots.txt",
        "/static/<path:filename>", "/v1/openapi.json",
    },
    "It is how an account is come by, or gone into.": {
        "/claim", "/forgot", "/login", "/login/code", "/login/company", "/login/company/claim",
        "/login/company/done", "/login/passkey", "/login/passkey/begin", "/logout", "/signup",
        "/v1/auth/agent-init",
    },
    "It says the same to everybody, after a link was used.": {
        "/claim/declined", "/claim/revoked", "/invite/declined",
        "/yours/done/<any(deleted, 'not-mine'):reason>",
    },
    "It is the page on which a business asks the public.": {
        "/<slug>", "/<slug>/card.css", "/<slug>/f/<form_name>", "/<slug>/recorder",
        "/<slug>/report", "/<slug>/opened", "/<slug>/started", "/<slug>/recordings",
        "/<slug>/recordings/<recording_id>", "/<slug>/recordings/<recording_id>/poster",
        "/<slug>/share.png", "/<slug>/thanks", "/<slug>/theme.css",
    },
    "It is what a business shows to the public.": {
        "/<slug>/<string(length=24):testimonial_id>", "/<slug>/<testimonial_id>/picture.png",
        "/<slug>/<string(length=24):testimonial_id>/record",
        "/<slug>/<string(length=24):testimonial_id>/record.json", "/<slug>/how-we-collect",
        "/record/<project_id>/head", "/record/<project_id>/log", "/record/keys",
        "/<slug>/wall", "/media/<image_id>.webp", "/media/recordings/<recording_id>",
        "/media/recordings/<recording_id>.vtt", "/oembed", "/widget/<project_id>",
        "/widget/<project_id>/feed", "/widget/<project_id>/feed.json",
        "/widget/<project_id>/fragment", "/widget/<project_id>/newsletter",
        "/widget/<project_id>/seen", "/widget/v1-<digest>.js", "/widget/v1.js",
    },
    "It is how a program comes by a token, for what a person allowed it.": {
        "/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp", "/oauth/register", "/oauth/revoke",
        "/oauth/token",
    },
    "It says which host names are customers’, and that this service answers.": {
        "/domains/ask", "/domains/mark",
    },
    "It is kept by the provider’s signature.": {"/webhooks/stripe"},
}  # fmt: skip
# It answers alike for every project and website; what was counted for a project that is gone, or by
# a page that may not, is dropped (tests/analytics).
BEACON = "/widget/<project_id>/seen"
PUBLIC_RULES = set().union(*PUBLIC.values())
PROJECT = "/dashboard/projects/<project_id>"

# What a moderator may do in a project; every other door about it is closed to them, new ones too.
MODERATOR_MAY = {
    f"{PROJECT}/{path}"
    for path in (
        "brand.css", "inbox", "inbox/proposals", "inbox/bulk", "inbox/undo", "inbox/samples",
        "inbox/numbers",
        "inbox/tags", "decide", "decide/undo", "decide/<testimonial_id>", "testimonials/new",
        *(f"testimonials/<testimonial_id>{each}" for each in (
            "", "/action", "/highlights", "/reply", "/thanks", "/transcript", "/recording/remove",
            "/picture", "/picture.png",
        )),
        "people/leave", "settings", "settings/mail",
    )
}  # fmt: skip
# What a reader may see, and the one thing that they may do.
READER_SEES = {f"{PROJECT}/{path}" for path in ("brand.css", "inbox", "settings")}
READER_SEES |= {
    f"{PROJECT}/testimonials/<testimonial_id>{path}" for path in ("", "/picture", "/picture.png")
}
READER_DOES = {f"{PROJECT}/people/leave"}
# Former addresses lead on; the page there asks for the role.
MODERATOR_MAY |= MOVED.keys()
READER_SEES |= MOVED.keys()
# What an admin may not.
OWNER_ONLY = {
    f"{PROJECT}/{path}"
    for path in (
        "settings/delete", "people/<account_id>/role", "people/hand-over",
        "people/hand-over/withdraw", "people/all",
    )
}  # fmt: skip
# A deleted project is gone for everybody but its owner.
OF_DELETED = {f"{PROJECT}/take-back"}

VARIABLE_HEADERS = {"X-Request-Id", "Date", "Content-Length"}
FORGED = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site", "Origin": "https://testimonials.example.com"},
    {"Origin": "https://elsewhere.example"},
    {"Origin": "https://testimonials.example.com.elsewhere.example"},
    {"Origin": "http://testimonials.example.com"},
    {"Origin": "https://testimonials.example.com:8443"},
    {"Origin": "null"},
]
MADE_UP = ["x", "%00", "%25", "..%2f", "é", "9" * 2000, "{{7*7}}"]
Doors = list[Door]
# So that no limit answers in the place of a keeper.
addresses = (f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in itertools.count(1))


def keeper(door: Door) -> str:
    """Tell what keeps a door: nothing (public), a session, a key or a link."""
    if door.rule.rule in PUBLIC_RULES:
        return "public"
    if "token" in door.rule.arguments:
        return "link"
    by_session = dict.fromkeys(("dashboard", "operator", "oauth"), "session")
    keepers = by_session | {"v1": "key", "mcp": "key"}
    return keepers.get(door.first, "nothing")


@pytest.fixture
def doors(app: Flask) -> Doors:
    return find_doors(app)


def of(doors: Doors, kept_by: str, *, placeholder: str = "") -> Doors:
    """Choose doors by their keeper, and by a placeholder."""
    chosen = [
        door
        for door in doors
        if keeper(door) == kept_by and (not placeholder or placeholder in door.names)
    ]
    assert len(chosen) > 5
    return chosen


def knock(
    browser: FlaskClient,
    world: World,
    door: Door,
    ids: Mapping[str, str] | None = None,
    *,
    token: str = "",
    path: str = "",
    **headers: str,
) -> Iterator[TestResponse]:
    """Open a door, with each body that a page of the owner's would send it."""
    path, sent = path or world.path(door, ids, token), dict[str, Any](method=door.method)
    sent["headers"] = headers
    if door.first in ("v1", "mcp"):
        sent |= world.call(browser.application, door)
        with browser.open(path, buffered=True, **sent) as answer:
            yield answer
        return
    for body in [None] if door.is_safe else world.bodies(world.path(door)):
        sent["environ_base"] = {"REMOTE_ADDR": next(addresses)}
        with browser.open(path, data=body, buffered=True, **sent) as answer:
            yield answer


def read(answer: TestResponse) -> str:
    """Return what an answer holds, a file's bytes among it."""
    return answer.data.decode(errors="replace")


def assert_tells_nothing(answer: TestResponse, door: Door) -> None:
    """Check that none of the owner's secrets is in an answer."""
    # What was sent is given back to whoever sent it, here the words of the owner's own forms.
    text = re.sub(r'<div class="card card-pad typed">.*?\n</div>', "", read(answer), flags=re.S)
    for secret in (SECRET, NAME, SLUG, "owner@example.com"):
        assert secret not in text, (door, secret)
    assert "Set-Cookie" not in answer.headers, door


def shape(
    answer: TestResponse, door: Door, ids: Mapping[str, str]
) -> tuple[int, dict[str, str], str]:
    """Return what somebody can tell two answers apart by, but for the ids that they sent."""
    headers = {name: value for name, value in answer.headers if name not in VARIABLE_HEADERS}
    text = read(answer).replace(answer.headers["X-Request-Id"], "")
    for name in door.rule.arguments & ids.keys():
        text = text.replace(ids[name], f"<{name}>")
        headers = {key: value.replace(ids[name], "") for key, value in headers.items()}
    return answer.status_code, headers, text


def test_every_door_has_a_keeper_or_a_reason_for_none(doors, world):
    for door in doors:
        assert world.path(door)
        assert keeper(door) != "nothing", (
            f"{door} is neither under /dashboard nor under /v1 and takes no <token>. If anybody "
            "may open it, name it in PUBLIC with the reason."
        )
    rules = {door.rule.rule for door in doors}
    assert rules >= PUBLIC_RULES | MODERATOR_MAY | OWNER_ONLY | OF_DELETED
    # What browsers send there is what the pages say, as far as there are pages.
    assert len(world.forms) > 50


@pytest.mark.parametrize("visitor", ["nobody", "gone", "key", "other key"])
def test_sessions_open_the_dashboard(app, world, doors, visitor):
    headers = {"key": world.keys["owner"], "other key": world.keys["outsider"]}.get(visitor, {})
    browser, before = world.open(app, visitor), everything(app)
    for door in of(doors, "session"):
        for answer in knock(browser, world, door, **headers):
            is_draft = answer.status_code == 401 and not door.is_safe
            is_sent = answer.status_code == 303 and answer.headers["Location"].startswith("/login?")
            assert is_draft or is_sent, (door, answer.status)
            assert SECRET not in answer.text or is_draft
            assert "Set-Cookie" not in answer.headers
    assert everything(app) == before


def test_the_api_is_for_its_own_key(app, world, doors):
    own, other = world.keys["owner"], world.keys["outsider"]
    mixed = own | {"x-api-key": other["x-api-key"]}
    wrong = own | {"x-api-key": own["x-api-key"][:-1] + "_"}
    before = everything(app)
    for door in of(doors, "key"):
        for visitor, headers in (
            ("nobody", {}), ("owner", {}), ("nobody", mixed), ("nobody", wrong),
            ("nobody", world.keys["gone"]),
            ("nobody", {"Authorization": f"Bearer {own['x-api-key']}"}),
        ):  # fmt: skip
            for answer in knock(world.open(app, visitor), world, door, **headers):
                assert answer.status_code == 401, (door, headers)
                assert_tells_nothing(answer, door)
    assert everything(app) == before


@pytest.mark.parametrize("visitor", ["outsider", "removed"])
def test_a_foreign_project_is_an_unknown_one(app, world, doors, visitor):
    browser, before, nothing = world.open(app, visitor), everything(app), UNKNOWN
    closed = of(doors, "session", placeholder="project_id")
    for door, accept in itertools.product(closed, ("text/html", "application/json")):
        answers = knock(browser, world, door, Accept=accept)
        others = knock(browser, world, door, nothing, Accept=accept)
        for answer, other in zip(answers, others, strict=True):
            assert answer.status_code == 404, door
            assert_tells_nothing(answer, door)
            assert shape(answer, door, world.ids) == shape(other, door, nothing), door
    for door in of(doors, "session"):
        if door.is_safe and "project_id" not in door.names:
            for answer in knock(browser, world, door):
                assert_tells_nothing(answer, door)
    assert everything(app) == before


def is_for_keys(app: Flask, door: Door) -> bool:
    """Tell whether the account's key passes a door of the API, to act or to propose."""
    rule = app.view_functions[door.rule.endpoint].operation  # type: ignore[attr-defined]
    return bool(rule.by_key or rule.drafts)


@pytest.mark.parametrize("credential", ["key", "token"])
@pytest.mark.parametrize("visitor", ["outsider", "removed", *ROLES])
def test_a_key_reaches_the_projects_of_its_own_account_alone(
    app, world, doors, visitor, credential
):
    before, nothing = everything(app), UNKNOWN
    headers = (world.keys if credential == "key" else world.tokens)[visitor]
    for door in of(doors, "key", placeholder="project_id"):
        browser = world.open(app, visitor)
        answers = knock(browser, world, door, **headers)
        others = knock(browser, world, door, nothing, **headers)
        for answer, other in zip(answers, others, strict=True):
            is_closed = credential == "key" and not is_for_keys(app, door)
            assert answer.status_code == (403 if is_closed else 404), door
            assert_tells_nothing(answer, door)
            assert shape(answer, door, world.ids) == shape(other, door, nothing), door
    assert everything(app) == before


def test_foreign_things_are_unknown_in_ones_project(app, world, doors):
    browser, before = world.open(app, "outsider"), everything(app)
    reached = [door for door in of(doors, "session") if door.names - {"project_id"}]
    assert len(reached) >= 5
    for door in reached:
        foreign = world.ids | {"project_id": world.own["project_id"]}
        nothing = UNKNOWN | {"project_id": world.own["project_id"]}
        answers = knock(browser, world, door, foreign)
        others = knock(browser, world, door, nothing)
        for answer, other in zip(answers, others, strict=True):
            # 422: the form itself is refused, before anything is looked up.
            is_gone = answer.status_code in (404, 422) or leads_on(door)
            assert is_gone or "session_id" in door.names, door
            assert_tells_nothing(answer, door)
            assert shape(answer, door, foreign) == shape(other, door, nothing), door
    assert everything(app) == before


def test_what_the_owners_forms_carry_is_worth_nothing_elsewhere(app, instance, world, doors):
    """Ids and signed values in bodies, sent by another owner to their own project."""
    browser = world.open(app, "outsider")
    about = re.compile("|".join(value for name, value in world.ids.items() if name.endswith("_id")))
    before = {row for rows in everything(app).values() for row in rows if about.search(row)}
    assert len(before) > 15
    for door in of(doors, "session", placeholder="project_id"):
        if door.names == {"project_id"} and not door.is_safe:
            for answer in knock(browser, world, door, world.own):
                # The outsider may well send the words that are in the form to their own project.
                assert answer.status_code < 500, door
                assert "owner@example.com" not in read(answer), door
            after = {row for rows in everything(app).values() for row in rows}
            assert before <= after, door
            restore(app, instance)


def may(role: str, door: Door) -> bool:
    """Tell whether the table above lets a role in."""
    rule = door.rule.rule
    if rule in OF_DELETED:
        return False
    if role == "reader":
        return rule in READER_DOES or (door.is_safe and rule in READER_SEES)
    return rule in MODERATOR_MAY or (role != "moderator" and rule not in OWNER_ONLY)


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
@pytest.mark.parametrize("role", ROLES)
def test_what_a_role_may_not_is_refused(app, world, doors, role, accept):
    browser, before = world.open(app, role), everything(app)
    closed = [d for d in of(doors, "session", placeholder="project_id") if not may(role, d)]
    assert len(closed) >= len(OWNER_ONLY | OF_DELETED)
    for door in closed:
        for answer in knock(browser, world, door, Accept=accept):
            assert answer.status_code == (404 if door.rule.rule in OF_DELETED else 403), door
            assert_tells_nothing(answer, door)
            assert door.method == "HEAD" or answer.mimetype == accept, door
    assert everything(app) == before


@pytest.mark.parametrize("role", ROLES)
def test_what_a_role_may_is_done(app, instance, world, doors, role):
    browser = world.open(app, role)
    opened = [d for d in of(doors, "session", placeholder="project_id") if may(role, d)]
    assert len(opened) >= len(READER_SEES if role == "reader" else MODERATOR_MAY)
    for door in opened:
        for answer in knock(browser, world, door):
            assert answer.status_code not in (401, 403, 404), door
            # Neither what only the owner sees nor, on a page, a link that would be refused.
            assert world.keys["owner"]["x-api-key"][-4:] not in read(answer), door
            is_led_on = "admin" in role or door.rule.rule in MOVED
            for word in ("people", "widget", "collect") if not is_led_on else ():
                assert f'{world.ids["project_id"]}/{word}"' not in read(answer), door
        if not door.is_safe:
            restore(app, instance)


def test_a_reader_is_shown_nothing_that_is_refused(app, world):
    """Every link opens, and the one form of a project is that for leaving it."""
    browser, project = world.open(app, "reader"), world.ids["project_id"]
    pages: list[str] = []
    opened: set[str] = set()

    def check(text: str, address: str) -> None:
        for link in LexborHTMLParser(text).css("a[href], iframe[src], img[src]"):
            target = link.attributes.get("href") or link.attributes.get("src") or ""
            if target.startswith(f"/dashboard/projects/{project}") and target not in opened:
                assert browser.get(target).status_code == 200, (address, target)
                opened.add(target)
        pages.append(address)

    base = f"/dashboard/projects/{project}"
    starts = [f"{base}/inbox?status={tab}" for tab in ("pending", "approved", "all", "spam")]
    starts += [f"{base}/testimonials/{world.ids['testimonial_id']}"]
    forms = crawl(browser, starts, check)
    sent = {form.path for form in forms if form.method == "POST" and project in form.path}
    assert sent <= {f"{base}/people/leave"}
    assert len(pages) > len(starts)


def test_the_owner_opens_each_door(app, instance, world, doors):
    """So that what is refused to others is not refused for a body that nobody would send."""
    browser = world.open(app, "owner")
    for door in of(doors, "session"):
        # To owners who are no operators there are no such pages.
        if door.first == "operator":
            continue
        forms = [form for form in world.forms if form.path == world.path(door)]
        # These want an address, a password or a code typed: tests/dashboard/account, tests/auth.
        # Nor is there anything to undo, no tag and no sample left to take away.
        others = ("account.", "inbox.tag_", "inbox.undo", "inbox.settle_", "inbox.highlight")
        is_typed = door.rule.endpoint.removeprefix("dashboard.").startswith(others)
        if door.is_safe or (forms and not is_typed):
            for answer in knock(browser, world, door):
                assert answer.status_code in (200, 303), (door, answer.text)
        if not door.is_safe:
            restore(app, instance)


def test_a_deleted_project_is_nowhere(app, world, doors):
    browser, key, before = world.open(app, "owner"), world.tokens["owner"], everything(app)
    nothing = UNKNOWN
    for door in doors:
        if not door.names & {"project_id", "slug"} or door.rule.rule in {*OF_DELETED, BEACON}:
            continue
        answers = knock(browser, world, door, world.deleted, **key)
        others = knock(browser, world, door, nothing, **key)
        for answer, other in zip(answers, others, strict=True):
            assert answer.status_code == 404, door
            assert shape(answer, door, world.deleted) == shape(other, door, nothing), door
    assert everything(app) == before


def test_a_link_opens_what_it_was_mailed_for_alone(app, make_app, world, doors):
    browser, before = world.open(app, "nobody"), everything(app)
    with app.app_context():
        forged = TokenPurpose("nothing").sign([world.ids["project_id"], "x"])
        payload, _ = TokenPurpose("reset").read(world.links["reset"])
    with make_app(secret_key="another secret of another service").app_context():
        foreign = TokenPurpose("reset").sign(payload)
    for door in of(doors, "link"):
        right = world.links[door.first]
        wrong = [forged, foreign, right[:-2], right[:8] + "A" * 8 + right[16:], "..", "é"]
        others = [token for first, token in world.links.items() if first != door.first]
        wrong += ["0" * 2000, *others]
        known = None
        for token in wrong:
            for answer in knock(browser, world, door, token=token):
                assert answer.status_code in (400, 404, 410), (door, token)
                assert answer.headers["Cache-Control"] == "no-store", (door, token)
                assert_tells_nothing(answer, door)
                # Which kind of link it is, nobody needs to know.
                known = known or shape(answer, door, {"token": token})
                assert shape(answer, door, {"token": token}) == known, (door, token)
    assert everything(app) == before


@pytest.mark.parametrize("headers", FORGED, ids=lambda headers: " ".join(headers.values()))
def test_no_form_is_taken_from_another_site(app, world, doors, headers):
    browser, before = world.open(app, "owner"), everything(app)
    for door in doors:
        if door.is_safe or keeper(door) == "key" or door.first == "v1" or door.rule.rule == BEACON:
            continue
        for answer in knock(browser, world, door, **headers):
            assert answer.status_code == 403, door
            assert "Set-Cookie" not in answer.headers
    assert everything(app) == before


def test_opening_a_page_changes_nothing_and_is_framed_by_nobody(app, world, doors):
    browser, before = world.open(app, "owner"), everything(app)
    for door in doors:
        if not door.is_safe or keeper(door) not in ("session", "link"):
            continue
        for answer in knock(browser, world, door):
            # To owners who are no operators there are no such pages.
            if door.first == "operator":
                assert answer.status_code == 404, door
                continue
            assert answer.status_code in (200, 303) or door.rule.rule in OF_DELETED, door
            assert answer.headers.get("Cache-Control") == "no-store" or answer.status_code == 303
            if answer.mimetype == "text/html" and answer.status_code == 200:
                ancestors = "'self'" if door.rule.rule.endswith("/preview") else "'none'"
                policy = answer.headers["Content-Security-Policy"]
                assert f"frame-ancestors {ancestors}" in policy, door
    # Only what was drawn is kept: the same pictures would be drawn again.
    assert everything(app) | {"testimonial_picture": before["testimonial_picture"]} == before


def test_every_answer_has_headers_of_its_kind(app, world, doors):
    browser = world.open(app, "owner")
    browser.set_cookie(
        COOKIE, world.cookies["owner"], domain=ORIGIN.removeprefix("https://"), path="/"
    )
    for door in doors:
        # A second time: the widget's data then comes from memory.
        for _ in range(2 if door.method == "GET" else 0):
            path = world.path(door)
            with browser.get(path, base_url=ORIGIN, headers=world.keys["owner"]) as answer:
                headers, policy = answer.headers, answer.headers["Content-Security-Policy"]
                assert "object-src 'none'; base-uri 'none'" in policy, door
                assert "frame-ancestors" in policy, door
                assert headers["X-Content-Type-Options"] == "nosniff", door
                assert headers["Strict-Transport-Security"] == "max-age=31536000", door
                kind = headers["Content-Type"]
                assert not kind.startswith("text/") or "charset=utf-8" in kind, door
                is_open = headers.get("Access-Control-Allow-Origin") == "*"
                # Our own files are the same for everybody; sandboxed frames have no origin.
                is_for_all = door.first in ("widget", "static")
                assert is_open <= (keeper(door) == "public" and is_for_all), door
                # Where pages ask for it (COEP), what is open to all must say so of itself.
                assert not is_open or headers["Cross-Origin-Resource-Policy"] == "cross-origin"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_other_methods_do_nothing(app, world, doors, method):
    browser, before = world.open(app, "owner"), everything(app)
    adapter = app.url_map.bind("")
    for path in {world.path(door) for door in doors}:
        if method in set(adapter.allowed_methods(path.partition("?")[0])) - {"OPTIONS"}:
            continue
        answer = browser.open(path, method=method, headers=world.keys["owner"])
        assert answer.status_code in (200, 204, 405), path
        assert SECRET not in answer.text
    assert everything(app) == before


def leads_on(door: Door) -> bool:
    """Tell whether it is a former address, which leads to the present one, whatever that says."""
    return door.rule.endpoint.startswith("dashboard.home.moved_")


@pytest.mark.parametrize("made_up", mostly_thorough(MADE_UP, "x", "%00"))
def test_made_up_ids_are_nowhere(app, world, doors, made_up):
    browser, key, before = world.open(app, "owner"), world.tokens["owner"], everything(app)
    for door in doors:
        for name in door.names - {"token"}:
            path = world.path(door, {name: "PLACE"}).replace("PLACE", made_up)
            for answer in knock(browser, world, door, path=path, **key):
                is_gone = answer.status_code in (404, 405, 422) or leads_on(door)
                # A session that isn't there is ended as well as one that is.
                assert is_gone or (name == "session_id" and answer.status_code == 303), path
    assert everything(app) == before
