"""Access tokens, and the account's key beside them: what programs come in with."""

import re
from collections.abc import Iterable
from typing import Any

from flask import redirect, request, url_for
from flask.typing import ResponseReturnValue
from marshmallow import fields

from testimonials.auth.accounts import get_account
from testimonials.auth.callers import DEFAULT_SCOPES, NEVER, Scope
from testimonials.auth.models import UNUSED
from testimonials.auth.sessions import SignedIn
from testimonials.auth.tokens import ListedToken, find_token, list_tokens, make_token, revoke_token
from testimonials.core import clock
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.http.blueprints import settings
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.http.fields import Choice, Text
from testimonials.core.http.forms import Choices, FormSchema, Once
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop, translate
from testimonials.dashboard.framework import Done, ProjectPage, Values, require_session
from testimonials.projects.access import Access, Role, search_shared
from testimonials.projects.projects import list_choosable, list_projects

# How a token was used last, by the door.
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
    """Return the tokens that this person manages here, but for those that were revoked.

    An administrator manages those for this project alone, the owner also those for all.
    """
    project = access.project
    return [
        _describe(each)
        for each in list_tokens(project.account_id, project.id)
        if each.token.state != "revoked" and (each.token.project_id or access.role == Role.OWNER)
    ]


def find_newest_use(tokens: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the token that was used last, None if none was."""
    used = [each for each in tokens if each["use"]]
    return max(used, key=lambda each: each["use"].at, default=None)


def _describe(listed: ListedToken) -> dict[str, Any]:
    token, use = listed.token, listed.last_use
    is_used = use is not None and use.at > clock.now() - UNUSED
    return {
        "token": token,
        # The stored time of the last use is a minute late.
        "state": "active" if token.state == "unused" and is_used else token.state,
        "made_by": listed.made_by,
        "scopes": [_(each.label) for each in Scope if each in token.scopes],
        "use": use,
        "used_for": _describe_use(use.operation, use.by) if use else "",
    }


def _describe_use(operation: str, door: str) -> str:
    """Return an operation in words: `update_widgetConfig` by `mcp` is "update widget config"."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", operation).lower()
    return ", ".join(filter(None, (words, translate(DOORS.get(door, "")))))


# Access tokens: making one, which shows it once, and revoking one.

NAME_LENGTH = 80
ALL = "all"
NEVER_ENDS = "never"
ENDS = {"30": "30 days", "90": "90 days", "365": "365 days", NEVER_ENDS: gettext_noop("Never")}
DEFAULT_DAYS = "90"


class TokenForm(FormSchema):
    name = Text(NAME_LENGTH, one_line=True, missing=gettext_noop("Name what will use the token."))
    scopes = Choices(*Scope, missing=gettext_noop("Choose at least one thing that it may do."))
    project = fields.String()
    ends = Choice(*ENDS, load_default=DEFAULT_DAYS)
    once = Once()


@settings.get("/dashboard/tokens/new")
@require_session
def choose_project(owner: SignedIn) -> ResponseReturnValue:
    """Go on to the form that a link fills in; agents that know no project hand it out."""
    found = list_projects(owner.account_id) or search_shared(owner.account_id, "", 0, 1)
    if not found:
        return redirect(url_for("dashboard.home.show_projects"), 303)
    name, scopes = request.args.get("name"), request.args.get("scopes")
    first = found[0].id
    return redirect(url_for(".show_token_form", project_id=first, name=name, scopes=scopes), 303)


new_token = ProjectPage(
    settings, "settings/developers/tokens/new", "settings/developers/token_new.html"
)


@new_token.show
def show_token_form(access: Access) -> Values:
    return {
        "all_scopes": list(Scope),
        "all_ends": [(days, _(label)) for days, label in ENDS.items()],
        "never": NEVER,
        "once": new_identifier(),
        "projects": _list_choices(access),
        "is_asked": bool(request.args.get("name") or request.args.get("scopes")),
        "typed": _fill_in(access),
    }


def _fill_in(access: Access) -> Values:
    """Return what ``?name=`` and ``?scopes=`` suggest; without scopes, Read and Draft."""
    named = request.args.get("scopes", "").replace(",", " ").split()
    return {
        "name": " ".join(request.args.get("name", "").split())[:NAME_LENGTH],
        "scopes": [each for each in Scope if each in named] or list(DEFAULT_SCOPES),
        "project": access.project.id,
        "ends": DEFAULT_DAYS,
    }


@new_token.save(TokenForm, step_up="make an access token")
def make_token_here(
    access: Access, name: str, scopes: list[Scope], project: str, ends: str, is_repeated: bool
) -> Done:
    if project not in _list_choices(access):
        raise ValidationFailed.of({"project": [_("Choose one of your projects.")]})
    made_by = access.user.account_id
    if is_repeated:
        return _lead_back(_("This token was made already. It was shown once."))
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
    return _lead_back(_("“%(name)s” is revoked. It stopped working at once.", name=token.name))


def _reach(access: Access) -> str | None:
    """Return the only project whose tokens an administrator manages; owners manage all."""
    return None if access.role == Role.OWNER else access.project.id


def _list_choices(access: Access) -> dict[str, str]:
    """Return the names of the projects that a token can be for, by their ids."""
    if access.role != Role.OWNER:
        return {access.project.id: access.project.name}
    choosable = list_choosable(access.user.account_id, access.project.id)
    names = {project.id: project.name for project in choosable}
    return names | {ALL: _("All projects, also later ones")}


def _lead_back(notice: str) -> Done:
    return Done(notice, url_for(".show_tokens"))
