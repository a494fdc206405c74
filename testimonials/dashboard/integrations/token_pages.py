"""Access tokens: making one, which shows it once, and revoking one."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.access.scopes import NEVER
from testimonials.access.tokens import find_token, make_token, revoke_token
from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.response_headers import answer_privately
from testimonials.dashboard.guards import build_shell, require_proof, require_role, require_session
from testimonials.dashboard.integrations.once import is_repeated
from testimonials.dashboard.integrations.overview import render_overview
from testimonials.dashboard.integrations.token_form import (
    TokenForm,
    list_choices,
    read_token_form,
    suggest,
)
from testimonials.dashboard.notices import add_notice
from testimonials.extensions import begin_write, db
from testimonials.projects.access import Access, Role, find_access, search_shared
from testimonials.projects.services import list_choosable, list_projects

tokens = Blueprint("tokens", __name__)

HERE = "integrations.show_integrations"


@tokens.get("/dashboard/tokens/new")
@require_session
def choose_project(owner: SignedIn) -> ResponseReturnValue:
    """Go on to the form that a link fills in; agents that know no project hand it out."""
    found = list_projects(owner.account_id) or search_shared(owner.account_id, "", 0, 1)
    if not found:
        return redirect(url_for("dashboard.show_projects"), 303)
    name, scopes = request.args.get("name"), request.args.get("scopes")
    first = found[0].id
    return redirect(url_for(".show_form", project_id=first, name=name, scopes=scopes), 303)


@tokens.get("/dashboard/projects/<project_id>/integrations/tokens/new")
@require_role(Role.ADMIN)
def show_form(access: Access) -> ResponseReturnValue:
    """Show the form; ``?name=`` and ``?scopes=`` fill it in."""
    return _form(access, suggest(_choices(access), access.project.id, request.args))


@tokens.post("/dashboard/projects/<project_id>/integrations/tokens")
@require_session
@require_proof("make an access token", HERE)
def make(owner: SignedIn, project_id: str) -> ResponseReturnValue:
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


@tokens.get("/dashboard/projects/<project_id>/integrations/tokens/<token_id>/revoke")
@require_role(Role.ADMIN)
def show_revoking(access: Access, token_id: str) -> ResponseReturnValue:
    token = find_token(access.project.account_id, token_id, _reach(access))
    return render_template(
        "dashboard/integrations/token_revoke.html",
        shell=build_shell(access, "integrations"),
        token=token,
    )


@tokens.post("/dashboard/projects/<project_id>/integrations/tokens/<token_id>/revoke")
@require_role(Role.ADMIN, for_update=True)
def revoke(access: Access, token_id: str) -> ResponseReturnValue:
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
