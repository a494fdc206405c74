"""Access tokens, and the page of integrations."""

from typing import Any

from flask import redirect, request, url_for
from flask.typing import ResponseReturnValue
from marshmallow import fields

from testimonials.auth.callers import DEFAULT_SCOPES, NEVER, Scope
from testimonials.auth.sessions import SignedIn
from testimonials.auth.tokens import find_token, make_token, revoke_token
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.http.blueprints import settings
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.http.fields import Choice, Text
from testimonials.core.http.forms import Choices, FormSchema
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop
from testimonials.dashboard.account import describe_activity, describe_newest, read_search
from testimonials.dashboard.framework import Done, ProjectPage, Values, is_repeated, require_session
from testimonials.dashboard.token_data import describe_connect, describe_tokens, find_newest_use
from testimonials.dashboard.webhook_data import describe_endpoints
from testimonials.projects.access import Access, Role, search_shared
from testimonials.projects.projects import list_choosable, list_projects

overview = ProjectPage(
    settings, "/dashboard/projects/<project_id>/integrations", "integrations/integrations.html"
)


@overview.show
def show_integrations(access: Access) -> Values:
    """Show the page; ``?client=`` opens that way to connect, ``?who=`` filters the activity."""
    tokens = describe_tokens(access)
    search = read_search(access.project.account_id, request.args, access.project.id)
    return {
        "tokens": tokens,
        "newest_use": find_newest_use(tokens),
        "clients": describe_connect(access.project, request.args.get("client", "")),
        "endpoints": describe_endpoints(access),
        "activity": describe_newest(search),
    }


activity = ProjectPage(
    settings,
    "/dashboard/projects/<project_id>/activity",
    "account/activity.html",
    nav="integrations",
)


@activity.show
def show_activity(access: Access) -> Values:
    """Show who did what in this project, however long ago."""
    return describe_activity(
        read_search(access.project.account_id, request.args, access.project.id)
    )


# Access tokens: making one, which shows it once, and revoking one.

NAME_LENGTH = 80
ALL = "all"
NEVER_ENDS = "never"
ENDS = {"30": "30 days", "90": "90 days", "365": "365 days", NEVER_ENDS: gettext_noop("Never")}
DEFAULT_DAYS = "90"


class TokenForm(FormSchema):
    name = Text(
        NAME_LENGTH,
        one_line=True,
        required=True,
        error_messages={"required": gettext_noop("Name what will use the token.")},
    )
    scopes = Choices(*Scope, missing=gettext_noop("Choose at least one thing that it may do."))
    project = fields.String()
    ends = Choice(*ENDS, load_default=DEFAULT_DAYS)


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
    settings,
    "/dashboard/projects/<project_id>/integrations/tokens/new",
    "integrations/token_new.html",
    role=Role.ADMIN,
    nav="integrations",
)


@new_token.show
def show_token_form(access: Access) -> Values:
    return {
        "all_scopes": list(Scope),
        "all_ends": ENDS,
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
    access: Access, name: str, scopes: list[Scope], project: str, ends: str
) -> Done:
    """Make a token and show it, once."""
    if project not in _list_choices(access):
        raise ValidationFailed.of({"project": [_("Choose one of your projects.")]})
    made_by = access.user.account_id
    if is_repeated(made_by):
        return _lead_back(_("This token was made already. It was shown once."))
    terms: dict[str, Any] = {
        "scopes": scopes,
        "project_id": None if project == ALL else project,
        "days": None if ends == NEVER_ENDS else int(ends),
    }
    _token, plain = make_token(access.project.account_id, name=name, made_by_id=made_by, **terms)
    return Done(page=overview, shown={"new_token": {"name": name, "plain": plain}})


revoking = ProjectPage(
    settings,
    "/dashboard/projects/<project_id>/integrations/tokens/<token_id>/revoke",
    "integrations/token_revoke.html",
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
    return Done(notice, url_for(".show_integrations"), anchor="tokens")
