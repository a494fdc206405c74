"""Accounts, testimonials, addresses and teams beside simple models of what they should be.

Hypothesis makes up what people do, through the doors, and after each step the service must show
what the model says. The suite tries a few short stories, `scripts/soak` thousands.
"""

import itertools
import re
from dataclasses import dataclass, field
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.rate_limits import RateLimitCounter
from testimonials.operations.expiry import sweep
from tests.auth.browsers import mailed_path, open_browser, sign_in
from tests.auth.links import init
from tests.conftest import PASSWORD, Caller, MovableClock, start_caller
from tests.support.finding import find

SIZE = settings(
    stateful_step_count=20, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
PASSWORDS = (PASSWORD, "four grey elephants", "nine quiet harbours")
JSON = {"Accept": "application/json"}
few = st.integers(0, 4)

numbers = itertools.count(1)


def next_address() -> str:
    """Return an address from which nobody has come yet, so that no limit is met."""
    number = next(numbers)
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


class Machine(RuleBasedStateMachine):
    """What the machines share: one application, in which each story has accounts of its own."""

    app: Flask
    clock: MovableClock

    def make_owner(self) -> Caller:
        email = f"person{next(numbers)}@example.com"
        return start_caller(self.app, email, is_claimed=True)

    def forget_limits(self) -> None:
        """Start every hour anew."""
        with self.app.app_context(), write():
            db.session.query(RateLimitCounter).delete()

    def choose(self, items: list[Any], index: int) -> Any:
        return items[index % len(items)]


class Slugs(Machine):
    """Addresses that are taken, given up, held for 90 days, and free again."""

    def __init__(self) -> None:
        super().__init__()
        self.owners = [self.make_owner(), self.make_owner()]
        self.browsers = [open_browser(self.app, owner) for owner in self.owners]
        self.story = next(numbers)
        # By project: whose it is, its address, and when it was deleted.
        self.projects: dict[str, tuple[int, str, float | None]] = {}
        # By address: whose it was, and until when.
        self.former: dict[str, tuple[str, float]] = {}
        self.now = 0.0

    def is_free(self, slug: str, project: str = "") -> bool:
        taken = {each for key, (_, each, _at) in self.projects.items() if key != project}
        whose, since = self.former.get(slug, (project, 0))
        return slug not in taken and (whose == project or self.now >= since + 90)

    @rule(who=st.integers(0, 1), name=st.sampled_from("abc"))
    def create(self, who: int, name: str) -> None:
        slug = f"story-{self.story}-{name}"
        answer = self.owners[who].post("/v1/projects", {"slug": slug, "skipDemoTestimonials": True})
        used = sum(owner == who and at is None for owner, _, at in self.projects.values())
        expected = 402 if used >= 10 else 200 if self.is_free(slug) else 400
        assert answer.status_code == expected, answer.text
        if expected == 200:
            self.projects[answer.get_json()["data"]["_id"]] = (who, slug, None)
            # What is taken anew no longer leads to who had it.
            self.former.pop(slug, None)

    @precondition(lambda self: self.projects)
    @rule(index=few, name=st.sampled_from("abc"))
    def rename(self, index: int, name: str) -> None:
        key = self.choose(list(self.projects), index)
        who, old, deleted = self.projects[key]
        slug = f"story-{self.story}-{name}"
        path = f"/dashboard/projects/{key}/settings/address"
        answer = self.browsers[who].post(path, data={"slug": slug})
        expected = 404 if deleted is not None else 303 if self.is_free(slug, key) else 422
        assert answer.status_code == expected, answer.text
        if expected == 303 and slug != old:
            self.projects[key] = (who, slug, None)
            self.former.pop(slug, None)
            self.former[old] = (key, self.now)

    @precondition(lambda self: self.projects)
    @rule(index=few)
    def delete(self, index: int) -> None:
        key = self.choose(list(self.projects), index)
        who, slug, deleted = self.projects[key]
        path = f"/dashboard/projects/{key}/settings/delete"
        answer = self.browsers[who].post(path, data={"confirm": slug, "proof": PASSWORD})
        assert answer.status_code == (303 if deleted is None else 404), answer.text
        if deleted is None:
            self.projects[key] = (who, slug, self.now)

    @precondition(lambda self: self.projects)
    @rule(index=few)
    def take_back(self, index: int) -> None:
        key = self.choose(list(self.projects), index)
        who, slug, deleted = self.projects[key]
        answer = self.browsers[who].post(f"/dashboard/projects/{key}/take-back")
        assert answer.status_code == (404 if deleted is None else 303), answer.text
        self.projects[key] = (who, slug, None)

    @rule(days=st.sampled_from([1, 20, 80]))
    def wait(self, days: int) -> None:
        self.now += days
        self.clock.move(days=days)
        self.browsers = [open_browser(self.app, owner) for owner in self.owners]
        with self.app.app_context():
            sweep()
        for key, (_who, _slug, deleted) in list(self.projects.items()):
            if deleted is not None and self.now - deleted >= 7:
                del self.projects[key]
                self.former = {
                    slug: (whose, since)
                    for slug, (whose, since) in self.former.items()
                    if whose != key
                }

    @invariant()
    def leads_to_whose_it_is(self) -> None:
        """Open every address as a visitor."""
        live = {slug: key for key, (_, slug, at) in self.projects.items() if at is None}
        held = {slug for _, slug, _at in self.projects.values()}
        for name in "abc":
            slug = f"story-{self.story}-{name}"
            answer = self.app.test_client().get(f"/{slug}")
            whose = self.former.get(slug, ("", 0))[0]
            if slug in live:
                assert answer.status_code == 200
            elif slug not in held and whose in live.values():
                assert answer.status_code == 307
                assert answer.headers["Location"] == f"/{self.projects[whose][1]}"
            else:
                assert answer.status_code == 404


class Invitations(Machine):
    """A team whose people are invited, join, change their roles, leave and are removed."""

    def __init__(self) -> None:
        super().__init__()
        self.owner = self.make_owner()
        self.id = self.owner.create_project()["_id"]
        self.base = f"/dashboard/projects/{self.id}"
        people = [self.make_owner() for _ in range(3)]
        self.people = {each.email: each for each in people}
        self.browsers = {each.email: open_browser(self.app, each) for each in people}
        self.mine = open_browser(self.app, self.owner)
        self.members: dict[str, str] = {}
        # By address: the role, the link that works, and who sent it.
        self.invited: dict[str, tuple[str, str, str]] = {}
        self.old_links: list[tuple[str, str]] = []

    def person(self, index: int) -> str:
        return str(self.choose(list(self.people), index))

    def act(self, who: int, path: str, **form: str) -> tuple[str, int]:
        """Send a form as the owner (0) or one of the people; return their role and the status."""
        self.forget_limits()
        email = self.owner.email if who == 0 else self.person(who)
        browser = self.mine if who == 0 else self.browsers[email]
        role = "owner" if who == 0 else self.members.get(email, "stranger")
        return role, browser.post(f"{self.base}/{path}", data=form).status_code

    @rule(who=st.integers(0, 3), index=few, role=st.sampled_from(["admin", "moderator"]))
    def invite(self, who: int, index: int, role: str) -> None:
        email = self.person(index)
        mine, status = self.act(who, "people", email=email, role=role)
        before = self.invited.get(email)
        is_admins = "admin" in (role, before[0] if before else "")
        expected = {"stranger": 404, "moderator": 403}.get(mine) or (
            403 if mine == "admin" and is_admins else 422 if email in self.members else 303
        )
        assert status == expected or (email in self.members and status in (403, 422)), mine
        if status == 303:
            if before:
                self.old_links.append((email, before[1]))
            sender = self.owner.email if who == 0 else self.person(who)
            self.invited[email] = (role, mailed_path(self.app, "invitation"), sender)

    @precondition(lambda self: self.invited)
    @rule(index=few)
    def take_back(self, index: int) -> None:
        email = self.choose(list(self.invited), index)
        _, status = self.act(0, "people/invitations/withdraw", email=email)
        assert status == 303
        self.old_links.append((email, self.invited.pop(email)[1]))

    @precondition(lambda self: self.invited)
    @rule(index=few, who=few)
    def accept(self, index: int, who: int) -> None:
        email, reader = self.choose(list(self.invited), index), self.person(who)
        role, link, _sender = self.invited[email]
        self.browsers[reader].post(link)
        if reader == email:
            del self.invited[email]
            self.members[email] = role
            self.old_links.append((email, link))

    @precondition(lambda self: self.old_links)
    @rule(index=few)
    def use_an_old_link(self, index: int) -> None:
        email, link = self.choose(self.old_links, index)
        assert self.browsers[email].post(link).status_code in (404, 410)

    @precondition(lambda self: self.members)
    @rule(index=few, role=st.sampled_from(["admin", "moderator"]))
    def change_role(self, index: int, role: str) -> None:
        email = self.choose(list(self.members), index)
        path = f"people/{self.people[email].account_id}/role"
        assert self.act(0, path, role=role)[1] == 303
        self.members[email] = role
        if role == "moderator":
            self.forget_invitations_of(email)

    @precondition(lambda self: self.members)
    @rule(index=few, leaves=st.booleans())
    def go(self, index: int, leaves: bool) -> None:
        email = self.choose(list(self.members), index)
        if leaves:
            status = self.browsers[email].post(f"{self.base}/people/leave").status_code
        else:
            path = f"people/{self.people[email].account_id}/remove"
            status = self.act(0, path)[1]
        assert status == 303
        del self.members[email]
        self.forget_invitations_of(email)

    def forget_invitations_of(self, email: str) -> None:
        """Let go of what somebody sent who may invite nobody any more."""
        for invited, (_, link, sender) in list(self.invited.items()):
            if sender == email:
                del self.invited[invited]
                self.old_links.append((invited, link))

    @invariant()
    def lets_in_who_belongs(self) -> None:
        """Knock as everybody, and read the list."""
        for email, browser in self.browsers.items():
            role = self.members.get(email, "")
            assert browser.get(f"{self.base}/inbox").status_code == (200 if role else 404)
            team = {"admin": 200, "moderator": 403}.get(role, 404)
            assert browser.get(f"{self.base}/people").status_code == team
            assert self.people[email].get(f"/v1/projects/{self.id}").status_code == 404
        # Where phones may break an address.
        page = self.mine.get(f"{self.base}/people").text.replace("<wbr>", "")
        for email in self.people:
            assert (f">{email}<" in page) == (email in self.members or email in self.invited)


@dataclass
class Browser:
    """Somebody's browser, and whether it should be signed in."""

    client: FlaskClient
    is_in: bool = True


@dataclass
class Credentials:
    """What opens an account: its password, its one key, the links in mails, and what was."""

    password: str = ""
    key: str = ""
    link: str = ""
    old_keys: list[str] = field(default_factory=list)
    old_links: list[str] = field(default_factory=list)

    def replace_key(self, key: str) -> None:
        self.old_keys += [self.key] if self.key else []
        self.key = key

    def replace_link(self, link: str) -> None:
        self.old_links += [self.link] if self.link else []
        self.link = link


class Accounts(Machine):
    """Begun by an agent, claimed, signed in to, and given other keys and passwords."""

    def __init__(self) -> None:
        super().__init__()
        self.email = f"person{next(numbers)}@example.com"
        self.account = ""
        self.has = Credentials()
        self.browsers: list[Browser] = []

    def inside(self, index: int) -> Browser | None:
        those = [each for each in self.browsers if each.is_in]
        return self.choose(those, index) if those else None

    @rule()
    def begin_by_agent(self) -> None:
        self.forget_limits()
        answer = init(self.app.test_client(), self.email, next_address())
        assert answer.status_code == 200
        data = answer.get_json()["data"]
        if self.has.password:
            assert data["accountExists"] is True
            assert "apiKey" not in data
            return
        self.account = data["accountId"]
        self.has.replace_key(data["apiKey"])
        self.has.replace_link(mailed_path(self.app, "claim"))

    @precondition(lambda self: self.has.link and not self.has.password)
    @rule(password=st.sampled_from(PASSWORDS), choice=st.sampled_from(["keep", "replace"]))
    def claim(self, password: str, choice: str) -> None:
        client = self.app.test_client()
        page = client.get(self.has.link).text
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page))
        form = hidden | {"password": password, "key": choice}
        answer = client.post(self.has.link, data=form, environ_base={"REMOTE_ADDR": next_address()})
        assert answer.status_code == 200, answer.text
        self.has.password = password
        self.has.replace_link("")
        self.browsers.append(Browser(client))
        if choice == "replace":
            self.has.replace_key(find(r"(tst_live_\w+)", answer.text))

    @precondition(lambda self: self.has.old_links)
    @rule(index=few)
    def use_an_old_link(self, index: int) -> None:
        link = self.choose(self.has.old_links, index)
        form = {"password": PASSWORDS[0], "key": "keep"}
        answer = self.app.test_client().post(
            link, data=form, environ_base={"REMOTE_ADDR": next_address()}
        )
        # Who has claimed it may come back by the link, and is told so.
        assert answer.status_code in ((200,) if self.has.password else (404, 410)), answer.text
        assert "Set-Cookie" not in answer.headers
        assert "tst_live_" not in answer.text

    @precondition(lambda self: self.has.password)
    @rule(password=st.sampled_from(PASSWORDS))
    def sign_in(self, password: str) -> None:
        client = self.app.test_client()
        answer = sign_in(client, self.email, password, ip=next_address())
        is_right = password == self.has.password
        assert answer.status_code == (303 if is_right else 422)
        if is_right:
            self.browsers.append(Browser(client))

    @precondition(lambda self: self.inside(0))
    @rule(index=few)
    def sign_out(self, index: int) -> None:
        browser = self.inside(index)
        assert browser is not None
        assert browser.client.post("/logout").status_code == 303
        browser.is_in = False

    @precondition(lambda self: self.inside(0))
    @rule(
        index=few,
        new=st.sampled_from(PASSWORDS),
        typed=st.sampled_from(PASSWORDS),
        key=st.booleans(),
    )
    def change_password(self, index: int, new: str, typed: str, key: bool) -> None:
        browser = self.inside(index)
        assert browser is not None
        form = {"current": typed, "password": new} | ({"replace_key": "on"} if key else {})
        answer = browser.client.post("/dashboard/account/security/password", data=form)
        assert answer.status_code == (200 if typed == self.has.password else 422), answer.text
        if typed == self.has.password:
            self.has.password = new
            for each in self.browsers:
                each.is_in = each is browser
            if key:
                self.has.replace_key(find(r"(tst_live_\w+)", answer.text))

    @precondition(lambda self: self.inside(0))
    @rule(index=few)
    def rotate_key(self, index: int) -> None:
        browser = self.inside(index)
        assert browser is not None
        form = {"proof": self.has.password}
        answer = browser.client.post("/dashboard/account/key", data=form)
        assert answer.status_code == 200, answer.text
        self.has.replace_key(find(r"(tst_live_\w+)", answer.text))

    @precondition(lambda self: self.inside(0))
    @rule(index=few)
    def end_every_session(self, index: int) -> None:
        browser = self.inside(index)
        assert browser is not None
        form = {"proof": self.has.password}
        assert (
            browser.client.post("/dashboard/account/security/sessions/end", data=form).status_code
            == 303
        )
        for each in self.browsers:
            each.is_in = False

    @invariant()
    def opens_to_what_is_valid(self) -> None:
        """Try every key and every browser there ever was."""
        for each in self.browsers:
            status = each.client.get("/dashboard/account").status_code
            assert status == (200 if each.is_in else 303)
        client = self.app.test_client()
        for key in [*self.has.old_keys, self.has.key]:
            if key:
                headers = {"x-service-account-id": self.account, "x-api-key": key}
                answer = client.get("/v1/me", headers=headers)
                assert answer.status_code == (200 if key == self.has.key else 401)


MACHINES = (Accounts, Slugs, Invitations)
