"""API and developers: agents, tokens, feeds, verified purchases, activity, OAuth's consent."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from flask import g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from marshmallow import fields

from testimonials.auth.accounts import get_account
from testimonials.auth.models import UNUSED
from testimonials.auth.sessions import SignedIn
from testimonials.auth.tokens import (
    DEFAULT_SCOPES,
    NEVER,
    ListedToken,
    Scope,
    find_token,
    list_tokens,
    make_token,
    revoke_token,
)
from testimonials.collection import verified_purchases
from testimonials.collection.events import PURCHASES_CHANGED
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.db.transactions import write
from testimonials.core.http import urls
from testimonials.core.http.blueprints import oauth, settings
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.http.fields import Choice, OneLine
from testimonials.core.http.forms import Choices, FormSchema, Once, SentForm, say_what
from testimonials.core.http.i18n import gettext, gettext_noop, ngettext, translate
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.security import answer_privately
from testimonials.dashboard.activity import describe_activity, describe_newest, read_search
from testimonials.dashboard.formatting import highlight
from testimonials.dashboard.framework import (
    Done,
    ProjectPage,
    Values,
    require_proof,
    require_session,
)
from testimonials.integrations.oauth import (
    AuthorizationRequest,
    add_code,
    describe_place,
    find_request,
)
from testimonials.integrations.webhooks.endpoints import list_endpoints
from testimonials.projects.access import Access, Role, search_shared
from testimonials.projects.models import Project
from testimonials.projects.projects import list_projects
from testimonials.widget.embed import write_policy

overview = ProjectPage(settings, "settings/developers", "settings/developers/developers.html")
# The first of these states that any endpoint is in is shown.
STATES = {
    "failing": gettext_noop("Failing"),
    "off": gettext_noop("Switched off"),
    "paused": gettext_noop("Paused"),
    "working": gettext_noop("All delivered"),
}


@overview.show
def show_developers(access: Access) -> Values:
    tokens = describe_tokens(access)
    states = {endpoint.state for endpoint in list_endpoints(access.project)}
    state = next((name for name in STATES if name in states), "")
    search = read_search(access.project.account_id, {}, access.project.id)
    return {
        "newest_use": find_newest_use(tokens),
        "token_count": len(tokens),
        "state": state,
        "webhooks": _(STATES[state]) if state else _("None yet"),
        "proves": _("On") if access.project.purchase_secret else _("Off"),
        "newest": describe_newest(search),
    }


# Connecting an agent.

CLIENTS = {
    "json": gettext_noop("MCP, JSON"),
    "line": gettext_noop("MCP, one line"),
    "curl": gettext_noop("Command line"),
    "prompt": gettext_noop("A prompt to paste"),
}
agents = ProjectPage(settings, "settings/developers/agents", "settings/developers/agents.html")


@agents.show
def show_agents(access: Access) -> Values:
    """Show the ways to connect, with the one in ``?client=`` open."""
    client = request.args.get("client", "")
    current = client if client in CLIENTS else next(iter(CLIENTS))
    newest = find_newest_use(describe_tokens(access))
    return {"clients": _describe_clients(access.project, current), "newest_use": newest}


def _describe_clients(project: Project, current: str) -> list[dict[str, Any]]:
    values = {
        "base": urls.base_url(),
        "mcp": urls.mcp_url(),
        "guide": urls.agent_guide_url(),
        "project": project,
    }
    return [
        {
            "key": key,
            "name": _(name),
            "code": highlight(
                render_template(f"dashboard/settings/developers/connect/{key}.txt", **values)
            ),
            "is_current": key == current,
        }
        for key, name in CLIENTS.items()
    ]


# Feeds for websites without the widget, and the lines for a Content-Security-Policy.

feeds = ProjectPage(settings, "settings/developers/feeds", "settings/developers/feeds.html")


@feeds.show
def show_feeds(access: Access) -> Values:
    project_id = access.project.id
    return {
        "json_feed_url": urls.json_feed_url(project_id),
        "fragment_url": urls.fragment_url(project_id),
        "newsletter_url": urls.newsletter_url(project_id),
        "policy": write_policy(),
    }


# Links that prove a purchase, and the secret with which a shop signs them.

purchases = ProjectPage(
    settings, "settings/developers/purchases", "settings/developers/purchases.html"
)


@purchases.show
def show_purchases(access: Access) -> Values:
    project = access.project
    return {
        "last_four": (project.purchase_secret or "")[-4:],
        "old_until": project.old_purchase_secret_until
        if verified_purchases.find_old_secret(project)
        else None,
        "verified": verified_purchases.count_verified(project),
        "link": urls.collection_page_url(project.slug, project.own_host),
    }


@purchases.save(
    {"last_four": fields.String(load_default="")}, at="/secret", step_up="Create secret"
)
def replace_secret(access: Access, last_four: str) -> Done:
    """Make or replace the secret, and show it once."""
    if last_four != (access.project.purchase_secret or "")[-4:]:
        return Done(_("Already done. It was shown once."))
    secret = verified_purchases.make_secret(access.project)
    record(PURCHASES_CHANGED, access.project)
    return Done(page=purchases, shown={"new_secret": secret})


@purchases.save(at="/off")
def switch_off(access: Access) -> Done:
    """Delete the secret: links signed with it open the plain form."""
    access.project.purchase_secret = None
    verified_purchases.end_old_secret(access.project)
    record(PURCHASES_CHANGED, access.project)
    return Done(_("Switched off. Links now open the plain form."))


@purchases.save(at="/end-old")
def end_old(access: Access) -> Done:
    """Revoke the former owner's secret immediately."""
    verified_purchases.end_old_secret(access.project)
    record(PURCHASES_CHANGED, access.project)
    return Done(_("The former owner’s secret no longer works."))


activity = ProjectPage(
    settings, "settings/developers/activity", "account/activity.html", nav="settings"
)


@activity.show
def show_activity(access: Access) -> Values:
    search = read_search(access.project.account_id, request.args, access.project.id)
    return describe_activity(search)


# Access tokens, and the account's key.

# How a token was last used.
DOORS = {"api": gettext_noop("by the API"), "mcp": gettext_noop("by MCP")}

tokens = ProjectPage(settings, "settings/developers/tokens", "settings/developers/tokens.html")


@tokens.show
def show_tokens(access: Access) -> Values:
    shown: Values = {"tokens": describe_tokens(access)}
    # Colleagues don't see the owner's key.
    if access.role == Role.OWNER:
        account = get_account(access.user.account_id)
        shown |= {"account_id": account.id, "key_last_four": account.key_last_four}
        shown["key_url"] = url_for("dashboard.account.show_key")
    return shown


def describe_tokens(access: Access) -> list[dict[str, Any]]:
    """Return the unrevoked tokens: to admins those for this project alone, to owners all."""
    project = access.project
    return [
        _describe(listed)
        for listed in list_tokens(project.account_id, project.id)
        if listed.token.state != "revoked"
        and (listed.token.project_id or access.role == Role.OWNER)
    ]


def find_newest_use(tokens: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    used = [token for token in tokens if token["use"]]
    return max(used, key=lambda token: token["use"].at, default=None)


def _describe(listed: ListedToken) -> dict[str, Any]:
    token, use = listed.token, listed.last_use
    is_used = use is not None and use.at > clock.now() - UNUSED
    return {
        "token": token,
        # The last use is stored up to a minute late.
        "state": "active" if token.state == "unused" and is_used else token.state,
        "made_by": listed.made_by,
        "scopes": [_(scope.label) for scope in Scope if scope in token.scopes],
        "use": use,
        "used_for": _describe_use(use.operation, use.by) if use else "",
    }


def _describe_use(operation: str, door: str) -> str:
    """Return an operation in words: `update_widgetConfig` by `mcp` is "update widget config"."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", operation).lower()
    return ", ".join(filter(None, (words, translate(DOORS.get(door, "")))))


NAME_LENGTH = 80
ALL = "all"
NEVER_ENDS = "never"
LIFETIMES = ("30", "90", "365")
DEFAULT_DAYS = "90"


class TokenForm(FormSchema):
    name = OneLine(NAME_LENGTH, required=True)
    scopes = Choices(*Scope, missing=gettext_noop("Choose at least one option."))
    project = fields.String()
    ends = Choice(*LIFETIMES, NEVER_ENDS, load_default=DEFAULT_DAYS)
    once = Once()


@settings.get("/dashboard/tokens/new")
@require_session
def choose_project(owner: SignedIn) -> ResponseReturnValue:
    """Redirect to the form for a new token in one of the projects, for agents that know none."""
    projects = list_projects(owner.account_id) or search_shared(owner.account_id, "", 0, 1)
    if not projects:
        return redirect(url_for("dashboard.home.show_projects"), 303)
    name, scopes = request.args.get("name"), request.args.get("scopes")
    first = projects[0].id
    return redirect(url_for(".show_token_form", project_id=first, name=name, scopes=scopes), 303)


new_token = ProjectPage(
    settings, "settings/developers/tokens/new", "settings/developers/token_new.html"
)


@new_token.show
def show_token_form(access: Access) -> Values:
    return {
        "all_scopes": list(Scope),
        "all_ends": [*_list_lifetimes().items(), (NEVER_ENDS, _("Never"))],
        "never": NEVER,
        "once": new_identifier(),
        "projects": _list_choices(access),
        "is_asked": bool(request.args.get("name") or request.args.get("scopes")),
        "typed": _fill_in(access),
    }


def _fill_in(access: Access) -> Values:
    """Return the values of ``?name=`` and ``?scopes=``, or the defaults."""
    scopes = request.args.get("scopes", "").replace(",", " ").split()
    return {
        "name": " ".join(request.args.get("name", "").split())[:NAME_LENGTH],
        "scopes": [scope for scope in Scope if scope in scopes] or list(DEFAULT_SCOPES),
        "project": access.project.id,
        "ends": DEFAULT_DAYS,
    }


@new_token.save(TokenForm, step_up="Create token")
def make_token_here(
    access: Access, name: str, scopes: list[Scope], project: str, ends: str, is_repeated: bool
) -> Done:
    if project not in _list_choices(access):
        raise ValidationFailed.of({"project": [_("Choose one of the options.")]})
    made_by = access.user.account_id
    if is_repeated:
        return _back_to_tokens(_("Already done. It was shown once."))
    terms: dict[str, Any] = {
        "scopes": scopes,
        "project_id": None if project == ALL else project,
        "days": None if ends == NEVER_ENDS else int(ends),
    }
    _token, plain = make_token(access.project.account_id, name=name, made_by_id=made_by, **terms)
    return Done(page=tokens, shown={"new_token": {"name": name, "plain": plain}})


revoking = ProjectPage(
    settings,
    "settings/developers/tokens/<token_id>/revoke",
    "settings/developers/token_revoke.html",
)


@revoking.show
def show_token_revoking(access: Access, token_id: str) -> Values:
    return {"token": find_token(access.project.account_id, token_id, _reach(access))}


@revoking.save()
def revoke_token_here(access: Access, token_id: str) -> Done:
    token = find_token(access.project.account_id, token_id, _reach(access))
    revoke_token(token)
    return _back_to_tokens(say_what(_("Removed"), token.name))


def _reach(access: Access) -> str | None:
    """Return the only project whose tokens an admin manages; None for owners."""
    return None if access.role == Role.OWNER else access.project.id


def _list_choices(access: Access) -> dict[str, str]:
    """Return the names of the projects that a token can be for, by id."""
    if access.role != Role.OWNER:
        return {access.project.id: access.project.called}
    newest = list_projects(access.user.account_id)
    names = {project.id: project.called for project in [access.project, *newest]}
    return names | {ALL: _("All projects, including later ones")}


def _back_to_tokens(notice: str) -> Done:
    return Done(notice, url_for(".show_tokens"))


ALL_PROJECTS = "all"


class AuthorizationForm(FormSchema):
    """The program's request, which the page carries from its query into the form."""

    client_id = fields.String()
    redirect_uri = fields.String()
    response_type = fields.String()
    scope = fields.String()
    state = fields.String()
    code_challenge = fields.String()
    code_challenge_method = fields.String()
    resource = fields.String()


class ConsentForm(FormSchema):
    scopes = Choices(*Scope, missing=gettext_noop("Choose at least one option."))
    project = fields.String(load_default="")
    days = Choice(*LIFETIMES, missing=gettext_noop("Choose one of the options."))


def _read_carried(form: Mapping[str, str] | None = None) -> dict[str, str]:
    values = AuthorizationForm().read(form).values
    return {name: text for name, text in values.items() if text is not None}


@oauth.get("/oauth/authorize")
@require_session
def show_consent(owner: SignedIn) -> ResponseReturnValue:
    carried = _read_carried(request.args)
    return answer_privately(_page(owner, find_request(carried), carried))


@oauth.post("/oauth/authorize")
@require_session
def allow(owner: SignedIn) -> ResponseReturnValue:
    """Redirect to the program, with a code for what the person has allowed."""
    carried = _read_carried()
    asked = find_request(carried)
    # For the Content-Security-Policy, which the page that asks for a proof needs too.
    g.form_target = urls.origin_of(asked.redirect_uri)
    return _allow(owner=owner, asked=asked, carried=carried)


@require_proof("Connect an agent", "dashboard.home.show_start")
def _allow(
    owner: SignedIn, asked: AuthorizationRequest, carried: dict[str, str]
) -> ResponseReturnValue:
    sent = ConsentForm().read()
    scopes = [scope for scope in asked.scopes if scope in sent.values.get("scopes", ())]
    if not scopes:
        missing = gettext("Choose at least one option.")
        sent.errors.setdefault("scopes", [missing])
    project = sent.values.get("project", "")
    if project not in _list_reach(owner):
        sent.errors["project"] = [gettext("Choose one of the options.")]
    if sent.errors:
        return answer_privately(_page(owner, asked, carried, sent), 422)
    limit = None if project == ALL_PROJECTS else project
    with write():
        code = add_code(asked, owner, limit, scopes, int(sent.values["days"]))
    return redirect(asked.answer(code=code), 303)


def _list_lifetimes() -> dict[str, str]:
    return {days: ngettext("%(num)s day", "%(num)s days", int(days)) for days in LIFETIMES}


def _list_reach(owner: SignedIn) -> dict[str, str]:
    own = {project.id: project.called for project in list_projects(owner.account_id)}
    return own | {ALL_PROJECTS: gettext("All projects")}


def _page(
    owner: SignedIn,
    asked: AuthorizationRequest,
    carried: dict[str, str],
    sent: SentForm | None = None,
) -> str:
    g.form_target = urls.origin_of(asked.redirect_uri)
    # Nothing is preselected by the link, which the program wrote.
    typed = sent.typed if sent else {"scopes": DEFAULT_SCOPES, "project": None, "days": "90"}
    return render_template(
        "agents/consent.html",
        email=owner.email,
        client=asked.client.name,
        place=describe_place(asked.redirect_uri),
        decline_url=asked.answer(error="access_denied"),
        carried=carried.items(),
        scopes=asked.scopes,
        checked=typed["scopes"],
        projects=_list_reach(owner),
        project=typed["project"],
        lifetimes=_list_lifetimes(),
        days=typed["days"],
        never=NEVER,
        errors=sent.errors if sent else {},
    )
