"""The account: address, key, sessions, activity, company sign-in."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm.attributes import set_committed_value

from testimonials.auth.accounts import (
    DisplayNameForm,
    delete_account,
    get_account,
    replace_key,
    set_display_name,
)
from testimonials.auth.cookies import clear_session_cookie, replace_session_cookie
from testimonials.auth.email_change import make_change_link
from testimonials.auth.emails import send_email_change_mail, send_security_mail
from testimonials.auth.events import (
    ACCOUNT_DELETED,
    ADDRESS_REQUESTED,
    KEY_ISSUED,
    KEY_REPLACED,
    NAME_CHANGED,
)
from testimonials.auth.limits import COMPANY_PER_ADDRESS, LINK_PER_EMAIL
from testimonials.auth.models import Account
from testimonials.auth.oidc.accounts import AttemptPurpose
from testimonials.auth.oidc.pages import leave
from testimonials.auth.schemas import NewLinkForm
from testimonials.auth.sessions import SignedIn, lock_owner, note_proof
from testimonials.auth.step_up import check_proof
from testimonials.core import clock
from testimonials.core.audit import (
    ActorKind,
    Event,
    EventFilter,
    find_types,
    list_events,
    record,
)
from testimonials.core.db.identifiers import hash_secret, is_identifier
from testimonials.core.event_texts import Names, name_actor, write_predicate
from testimonials.core.extensions import begin_write, db, let_others_write, limiter
from testimonials.core.http.blueprints import account
from testimonials.core.http.form_errors import Errors
from testimonials.core.http.forms import add_notice, read_notice
from testimonials.core.http.i18n import (
    find_language,
    gettext,
    gettext_noop,
    translate,
    use_language,
)
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.security import answer_privately, safe_target
from testimonials.core.settings.current import current_settings
from testimonials.dashboard.formatting import describe_modes, describe_plan
from testimonials.dashboard.framework import require_proof, require_session
from testimonials.dashboard.shell import build_shell
from testimonials.projects.access import Role, list_joined_projects, search_shared
from testimonials.projects.events import MEMBER_LEFT
from testimonials.projects.models import Project
from testimonials.projects.notifications import find_modes
from testimonials.projects.projects import count_projects
from testimonials.projects.settings import give_up_projects
from testimonials.projects.team import list_memberships, list_workspaces
from testimonials.testimonials.history import remove_some
from testimonials.testimonials.media.recordings import find_account_share
from testimonials.testimonials.testimonials import find_authors
from testimonials.transfer.tables.export import find_names

# The activity of an account or of one of its projects, as people search and read it.

PAGE_SIZE = 50
# Words are searched for in the sentences, not by a query; one request reads at most this many
# events, and links to the rest.
MOST_SEARCHED = 5000
MOST_WORDS = 200
OTHERS = {
    ActorKind.AGENT: gettext_noop("Agents, by API key"),
    ActorKind.TOKEN: gettext_noop("Access tokens"),
    ActorKind.OPERATOR: gettext_noop("The operator"),
    ActorKind.SYSTEM: gettext_noop("The service itself"),
    ActorKind.VISITOR: gettext_noop("Somebody not signed in"),
}
# Who acts, as the Integrations page filters it.
KINDS = {
    "people": (ActorKind.PERSON, ActorKind.VISITOR, ActorKind.OPERATOR),
    "agents": (ActorKind.AGENT, ActorKind.TOKEN),
    "rules": (ActorKind.SYSTEM,),
}
GONE = gettext_noop("Somebody who is gone")
KIND_LABELS = {
    "people": gettext_noop("People"),
    "agents": gettext_noop("Agents"),
    "rules": gettext_noop("Rules"),
}
NEWEST = 6
# The subjects that the filter offers as one.
GROUPS = {
    gettext_noop("Sign-ins"): ("session", "company", "passkey", "app", "code", "codes", "sign_in"),
    gettext_noop("Account"): ("account", "password", "address", "key", "plan"),
    gettext_noop("Team"): ("invitation", "member", "ownership"),
    gettext_noop("Projects"): ("project", "page", "form", "widget", "domain"),
    gettext_noop("Testimonials"): (
        *("testimonial", "testimonials", "samples", "requests", "request", "author", "reply"),
    ),
    gettext_noop("Operator"): ("report", "texts", "mail"),
    gettext_noop("Integrations"): ("proposal", "token", "purchases", "webhook"),
}


@dataclass(frozen=True)
class Search:
    account_id: str
    # Only what happened in this one; empty for all.
    project_id: str = ""
    q: str = ""
    type: str = ""
    who: str = ""
    before: str = ""

    @property
    def is_narrowed(self) -> bool:
        return bool(self.q or self.type or self.who)

    def find(self, limit: int | None = None) -> Iterator[Event]:
        kind, _, name = self.who.partition(".")
        kinds = KINDS.get(kind) or ([kind] if kind else [])
        types = [type for word in GROUPS.get(self.type, ()) for type in find_types(word)]
        wanted = EventFilter(
            self.account_id, types, kinds, name, self.before, project_id=self.project_id
        )
        for event in list_events(wanted, limit):
            if self.project_id:
                # From where colleagues work, and the owner's key, is nothing for administrators.
                set_committed_value(event, "network", None)
                if event.actor_kind == ActorKind.AGENT:
                    set_committed_value(event, "actor_name", None)
            yield event

    def matches(self, sentence: str) -> bool:
        folded = sentence.casefold()
        return all(word in folded for word in self.q.casefold().split())

    def address(self, before: str | None = None, *, as_csv: bool = False) -> str:
        """Return the URL of this search for events older than `before`."""
        view = "dashboard.settings.export_activity" if as_csv else "dashboard.account.show_activity"
        if self.project_id:
            view = (
                "dashboard.settings.export_project_activity"
                if as_csv
                else "dashboard.settings.show_activity"
            )
        values: dict[str, Any] = {"q": self.q, "type": self.type, "who": self.who, "before": before}
        return url_for(view, **{name: value for name, value in values.items() if value})


def read_search(account_id: str, values: Mapping[str, str], project_id: str = "") -> Search:
    """Return the search in a URL's parameters, ignoring invalid ones."""
    kind, _, name = values.get("who", "").partition(".")
    is_one = kind in (ActorKind.PERSON, ActorKind.TOKEN) and is_identifier(name)
    before = values.get("before", "")
    return Search(
        account_id,
        project_id,
        q=values.get("q", "").strip()[:MOST_WORDS],
        type=values.get("type", "") if values.get("type") in GROUPS else "",
        who=f"{kind}.{name}" if is_one else kind if kind in OTHERS or kind in KINDS else "",
        before=before if is_identifier(before) else "",
    )


def describe_activity(search: Search) -> dict[str, Any]:
    people, projects = find_names(search.account_id, search.project_id)
    rows: list[dict[str, Any]] = []
    last = older_url = None
    most = MOST_SEARCHED if search.q else PAGE_SIZE
    for count, event in enumerate(list(search.find(most + 1))):
        if len(rows) == PAGE_SIZE or count == most:
            older_url = search.address(last)
            break
        row, last = _describe(event, people, projects), event.id
        if search.matches(f"{row['who']} {row['what']}"):
            rows.append(row)
    return {
        "events": rows,
        "search": search,
        "groups": list(GROUPS),
        "actors": _list_actors(search, people),
        "older_url": older_url,
        "newest_url": search.address() if search.before else None,
        "here_url": replace(search, q="", type="", who="").address(),
        "csv_url": search.address(as_csv=True),
    }


def describe_newest(search: Search) -> dict[str, Any]:
    """Return the newest events of a project, by whom the search names."""
    people, _ = find_names(search.account_id, search.project_id)
    events = list(search.find(NEWEST))
    authors = find_authors({each.testimonial_id or "" for each in events})
    return {
        "who": search.who,
        "csv_url": search.address(as_csv=True),
        "events": [_describe_newest(event, people, authors) for event in events],
        "days": f"{current_settings().activity_days:g}",
    }


def _describe_newest(event: Event, people: Names, authors: Names) -> dict[str, Any]:
    about = event.testimonial_id or ""
    return _describe(event, people, {}) | {
        "kind": next(name for name, kinds in KINDS.items() if event.actor_kind in kinds),
        "testimonial_id": about if about in authors else None,
        "author": authors.get(about),
    }


def _describe(event: Event, people: Names, projects: Names) -> dict[str, Any]:
    who, what = name_actor(event, people), write_predicate(event, projects)
    return {"who": who, "what": what, "time": event.created_at}


def _list_actors(search: Search, people: Names) -> dict[str, str]:
    actors = {name: translate(label) for name, label in KIND_LABELS.items()}
    actors |= {
        key if "." in key else f"{ActorKind.PERSON}.{key}": name for key, name in people.items()
    }
    actors |= {kind: translate(name) for kind, name in OTHERS.items()}
    # A bookmarked URL may name somebody who has left, or a deleted token.
    return {search.who: translate(GONE)} | actors if search.who else actors


# The account: address, password, API key, browsers that are signed in, and leaving.


ACCOUNT_PAGE = "dashboard.account.show_account"
# Of how many projects the page shows when they send mail.
LISTED = 10


@account.get("/dashboard/account")
@require_session
def show_account(owner: SignedIn) -> ResponseReturnValue:
    return answer_privately(_page(owner, notice=read_notice()))


@account.get("/dashboard/account/activity")
@require_session
def show_activity(owner: SignedIn) -> ResponseReturnValue:
    shown = describe_activity(read_search(owner.account_id, request.args))
    return render_template(
        "dashboard/account/activity.html",
        shell=build_shell(owner, "account"),
        **shown,
    )


@account.post("/dashboard/account/name")
@require_session
def change_name(owner: SignedIn) -> ResponseReturnValue:
    sent = DisplayNameForm().read(request.form)
    if sent.errors:
        page = _page(owner, errors=sent.errors, name_value=sent.typed["display_name"])
        return answer_privately(page, 422)
    begin_write()
    name = sent.values["display_name"]
    if set_display_name(lock_owner(owner), name):
        record(NAME_CHANGED, owner.account_id, name=name or "none")
    db.session.commit()
    return redirect(add_notice(url_for(ACCOUNT_PAGE), _("Saved")), 303)


@account.post("/dashboard/account/language")
@require_session
def change_language(owner: SignedIn) -> ResponseReturnValue:
    """Keep the language of the person's pages; none means the browser's."""
    chosen = find_language(request.form.get("language", ""))
    begin_write()
    lock_owner(owner).language = chosen.code if chosen else None
    db.session.commit()
    use_language(chosen.code if chosen else None)
    return redirect(add_notice(url_for(ACCOUNT_PAGE), gettext("Saved")), 303)


@account.post("/dashboard/account/email")
@require_session
@require_proof("change your address", ACCOUNT_PAGE)
def ask_for_email_change(owner: SignedIn) -> ResponseReturnValue:
    """Mail a link to the new address; opening it changes the account."""
    sent = NewLinkForm().read(request.form)
    if sent.errors:
        page = _page(owner, errors=sent.errors, email_value=sent.typed["email"])
        return answer_privately(page, 422)
    email = sent.values["email"]
    limiter.count(LINK_PER_EMAIL, hash_secret(email))
    begin_write()
    send_email_change_mail(email, owner.email, make_change_link(lock_owner(owner), email))
    record(ADDRESS_REQUESTED, owner.account_id, email=email)
    db.session.commit()
    notice = _("Open the link in the mail to %(email)s to use it.", email=email)
    return redirect(add_notice(url_for(ACCOUNT_PAGE), notice), 303)


@account.post("/dashboard/account/key")
@require_session
@require_proof("replace your API key", ACCOUNT_PAGE)
def replace_key_here(owner: SignedIn) -> ResponseReturnValue:
    """Replace the API key and show the new one once."""
    begin_write()
    changed = lock_owner(owner)
    became = KEY_REPLACED if changed.has_key else KEY_ISSUED
    api_key = replace_key(changed)
    send_security_mail(owner.email, "The API key of your account was replaced.")
    record(became, owner.account_id)
    db.session.commit()
    return answer_privately(_page(owner, new_key=api_key))


@account.post("/dashboard/account/delete")
@require_session
@require_proof("delete your account", ACCOUNT_PAGE)
def delete_here(owner: SignedIn) -> ResponseReturnValue:
    """Delete the account and everything in it permanently."""
    if request.form.get("confirm", "").strip().lower() != owner.email:
        errors = {"confirm": [_("Type %(email)s to delete this account.", email=owner.email)]}
        return answer_privately(_page(owner, errors=errors), 422)
    leaving = _lock_emptied(owner)
    for project in list_joined_projects(owner.account_id):
        record(MEMBER_LEFT, project)
    for workspace in list_workspaces(owner.account_id):
        record(MEMBER_LEFT, workspace.owner_id)
    delete_account(leaving)
    record(ACCOUNT_DELETED, None, account=owner.account_id)
    db.session.commit()
    response = redirect(url_for("auth.show_declined"), 303)
    clear_session_cookie(response)
    return response


def _lock_emptied(owner: SignedIn) -> Account:
    """Remove the account's testimonials in parts; return it locked, with the last part under way.

    Its projects are hidden first: if this is cut short, nobody sees half of one.
    """
    begin_write()
    leaving = lock_owner(owner)
    is_own = Project.account_id == owner.account_id
    give_up_projects(is_own)
    while remove_some(is_own):
        db.session.commit()
        let_others_write()
        begin_write()
        leaving = lock_owner(owner)
    return leaving


def _page(
    owner: SignedIn,
    *,
    notice: Mapping[str, str | None] | None = None,
    new_key: str | None = None,
    email_value: str = "",
    name_value: str | None = None,
    errors: Errors | None = None,
) -> str:
    found = get_account(owner.account_id)
    newest = search_shared(owner.account_id, "", 0, LISTED + 1)
    shared = list_memberships(owner.account_id, newest).items()
    # They get no mail of what is to be decided.
    read_only = {project_id for project_id, each in shared if each.role == Role.READER}
    told = [each for each in newest if each.id not in read_only]
    return render_template(
        "dashboard/account/account.html",
        shell=build_shell(owner, "account"),
        notice=notice,
        account=found,
        email_value=email_value,
        name_value=name_value,
        errors=errors or {},
        key_since=clock.day(found.key_created_at),
        new_key=new_key,
        limit=describe_plan(found),
        recordings=find_account_share(owner.account_id),
        projects=told[:LISTED],
        has_more_projects=len(newest) > LISTED,
        chosen=find_modes(owner.account_id, newest),
        modes=describe_modes(),
        own_count=count_projects(owner.account_id),
    )


HERE = "dashboard.account.show_security"

# Linking one's account with the company's, and confirming with it who one is.


@account.post("/dashboard/account/company/link")
@limiter.per_address(COMPANY_PER_ADDRESS)
@require_session
@require_proof("link your company account", HERE, changes_ways_in=True)
def link_company(owner: SignedIn) -> ResponseReturnValue:
    """Send the browser to the company's sign-in; who comes back is linked."""
    return leave(AttemptPurpose.LINK, owner, target=url_for(HERE))


@account.post("/dashboard/account/company/prove")
@limiter.per_address(COMPANY_PER_ADDRESS)
@require_session
def prove_by_company(owner: SignedIn) -> ResponseReturnValue:
    """Send the browser to the company's sign-in, which asks again, and then on with the draft."""
    target = safe_target(request.form.get("next", "")) or url_for(HERE)
    draft = request.form.get("draft", "")
    return leave(AttemptPurpose.PROVE, owner, target=target, draft=draft)


@account.get("/dashboard/account/company/mailed")
@require_session
def show_mailed_proof(owner: SignedIn) -> ResponseReturnValue:
    """Ask who opened the link of a mail to press a button, since mail scanners open links too."""
    token = request.args.get("proof", "")
    if not token:
        return redirect(url_for(HERE), 303)
    check_proof(owner, token)
    return _mailed_page(owner, token)


@account.post("/dashboard/account/company/mailed")
@require_session
def take_mailed_proof(owner: SignedIn) -> ResponseReturnValue:
    check_proof(owner, request.form.get("proof", ""))
    begin_write()
    _, cookie = note_proof(owner)
    db.session.commit()
    replace_session_cookie(cookie)
    return _mailed_page(owner, "")


def _mailed_page(owner: SignedIn, token: str) -> str:
    page, shell = "dashboard/account/mailed_proof.html", build_shell(owner, "account")
    return render_template(page, shell=shell, token=token)
