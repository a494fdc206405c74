"""Access tokens, and the page of integrations."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.datastructures import MultiDict

from testimonials.auth.scopes import DEFAULT_SCOPES, NEVER, Scope
from testimonials.auth.sessions import SignedIn
from testimonials.auth.tokens import find_token, make_token, revoke_token
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.extensions import begin_write, db
from testimonials.core.http.blueprints import settings
from testimonials.core.http.fields import Choice, Text
from testimonials.core.http.form_errors import Errors
from testimonials.core.http.forms import FormSchema, add_notice, read_notice
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.security import answer_privately
from testimonials.dashboard.account import describe_activity, describe_newest, read_search
from testimonials.dashboard.framework import (
    build_shell,
    is_repeated,
    require_proof,
    require_role,
    require_session,
)
from testimonials.dashboard.token_data import describe_connect, describe_tokens, find_newest_use
from testimonials.dashboard.webhook_data import describe_endpoints
from testimonials.projects.access import Access, Role, find_access, search_shared
from testimonials.projects.models import Project
from testimonials.projects.projects import list_choosable, list_projects

# The form for a new access token.

NAME_LENGTH = 80
ALL = "all"
NEVER_ENDS = "never"
ENDS = {"30": "30 days", "90": "90 days", "365": "365 days", NEVER_ENDS: gettext_noop("Never")}
DEFAULT_DAYS = "90"


class TokenFormSchema(FormSchema):
    name = Text(
        NAME_LENGTH,
        one_line=True,
        required=True,
        error_messages={"required": gettext_noop("Name what will use the token.")},
    )
    ends = Choice(*ENDS, load_default=DEFAULT_DAYS)


@dataclass
class TokenForm:
    """What was chosen, or is suggested; the projects are those that it can be for."""

    projects: dict[str, str]
    name: str = ""
    scopes: list[Scope] = field(default_factory=lambda: list(DEFAULT_SCOPES))
    project: str = ""
    ends: str = DEFAULT_DAYS
    errors: Errors = field(default_factory=dict)

    @property
    def terms(self) -> dict[str, Any]:
        """What the token may do, where and for how long."""
        return {
            "scopes": self.scopes,
            "project_id": None if self.project == ALL else self.project,
            "days": None if self.ends == NEVER_ENDS else int(self.ends),
        }

    def describe(self) -> dict[str, Any]:
        return {
            "form": self,
            "errors": self.errors,
            "all_scopes": list(Scope),
            "all_ends": ENDS,
            "once": new_identifier(),
        }


def list_choices(projects: Iterable[Project], *, with_all: bool) -> dict[str, str]:
    """Return the names of projects that a token can be for, by their ids."""
    choices = {project.id: project.name for project in projects}
    return choices | ({ALL: _("All projects, also later ones")} if with_all else {})


def suggest(projects: dict[str, str], project: str, wanted: Mapping[str, str]) -> TokenForm:
    """Return the form as a link fills it in, with Read and Draft unless it says otherwise."""
    form = TokenForm(projects, project=project)
    form.name = " ".join(wanted.get("name", "").split())[:NAME_LENGTH]
    named = wanted.get("scopes", "").replace(",", " ").split()
    form.scopes = [each for each in Scope if each in named] or form.scopes
    return form


def read_token_form(projects: dict[str, str], sent: MultiDict[str, str]) -> TokenForm:
    read = TokenFormSchema().read(sent)
    form = TokenForm(projects, errors=dict(read.errors))
    form.name = read.values.get("name") or read.typed["name"]
    form.scopes = [each for each in Scope if each in sent.getlist("scopes")]
    form.project = sent.get("project", "")
    form.ends = read.values.get("ends") or DEFAULT_DAYS
    if not form.scopes:
        form.errors["scopes"] = [_("Choose at least one thing that it may do.")]
    if form.project not in projects:
        form.errors["project"] = [_("Choose one of your projects.")]
    return form


# The Integrations page as a whole.


def render_overview(
    access: Access,
    *,
    new_token: dict[str, str] | None = None,
    new_secret: dict[str, str] | None = None,
) -> str:
    """Return the page, with what was just made and is shown this once."""
    tokens = describe_tokens(access)
    search = read_search(access.project.account_id, request.args, access.project.id)
    shown: dict[str, Any] = {
        "tokens": tokens,
        "newest_use": find_newest_use(tokens),
        "clients": describe_connect(access.project, request.args.get("client", "")),
        "endpoints": describe_endpoints(access),
        "activity": describe_newest(search),
    }
    return render_template(
        "dashboard/integrations/integrations.html",
        shell=build_shell(access, "integrations"),
        notice=read_notice(),
        new_token=new_token,
        new_secret=new_secret,
        **shown,
    )


# Access tokens: making one, which shows it once, and revoking one.


HERE = "dashboard.settings.show_integrations"


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


@settings.get("/dashboard/projects/<project_id>/integrations/tokens/new")
@require_role(Role.ADMIN)
def show_token_form(access: Access) -> ResponseReturnValue:
    """Show the form; ``?name=`` and ``?scopes=`` fill it in."""
    return _form(access, suggest(_choices(access), access.project.id, request.args))


@settings.post("/dashboard/projects/<project_id>/integrations/tokens")
@require_session
@require_proof("make an access token", HERE)
def make_token_here(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Make a token and show it, once."""
    begin_write()
    access = find_access(owner, project_id, Role.ADMIN, for_update=True)
    form = read_token_form(_choices(access), request.form)
    if form.errors:
        db.session.rollback()
        return _form(access, form), 422
    if is_repeated(owner.account_id):
        db.session.rollback()
        return _go_back(_("This token was made already. It was shown once."))
    _token, plain = make_token(
        access.project.account_id, name=form.name, made_by_id=owner.account_id, **form.terms
    )
    db.session.commit()
    return answer_privately(render_overview(access, new_token={"name": form.name, "plain": plain}))


@settings.get("/dashboard/projects/<project_id>/integrations/tokens/<token_id>/revoke")
@require_role(Role.ADMIN)
def show_token_revoking(access: Access, token_id: str) -> ResponseReturnValue:
    token = find_token(access.project.account_id, token_id, _reach(access))
    return render_template(
        "dashboard/integrations/token_revoke.html",
        shell=build_shell(access, "integrations"),
        token=token,
    )


@settings.post("/dashboard/projects/<project_id>/integrations/tokens/<token_id>/revoke")
@require_role(Role.ADMIN, for_update=True)
def revoke_token_here(access: Access, token_id: str) -> ResponseReturnValue:
    token = find_token(access.project.account_id, token_id, _reach(access))
    revoke_token(token)
    db.session.commit()
    return _go_back(_("“%(name)s” is revoked. It stopped working at once.", name=token.name))


def _reach(access: Access) -> str | None:
    """Return the only project whose tokens an administrator manages; owners manage all."""
    return None if access.role == Role.OWNER else access.project.id


def _choices(access: Access) -> dict[str, str]:
    if access.role != Role.OWNER:
        return list_choices([access.project], with_all=False)
    choosable = list_choosable(access.user.account_id, access.project.id)
    return list_choices(choosable, with_all=True)


def _form(access: Access, form: TokenForm) -> str:
    return render_template(
        "dashboard/integrations/token_new.html",
        shell=build_shell(access, "integrations"),
        never=NEVER,
        is_asked=bool(request.args.get("name") or request.args.get("scopes")),
        **form.describe(),
    )


def _go_back(notice: str) -> ResponseReturnValue:
    return redirect(add_notice(url_for(HERE), notice) + "#tokens", 303)


# The Integrations page, and the record of what happened in a project.


@settings.get("/dashboard/projects/<project_id>/integrations")
@require_role(Role.ADMIN)
def show_integrations(access: Access) -> ResponseReturnValue:
    """Show the page; ``?client=`` opens that way to connect, ``?who=`` filters the activity."""
    return render_overview(access)


@settings.get("/dashboard/projects/<project_id>/activity")
@require_role(Role.ADMIN)
def show_activity(access: Access) -> ResponseReturnValue:
    """Show who did what in this project, however long ago."""
    search = read_search(access.project.account_id, request.args, access.project.id)
    return render_template(
        "dashboard/account/activity.html",
        shell=build_shell(access, "integrations"),
        **describe_activity(search),
    )
