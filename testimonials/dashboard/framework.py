"""What the dashboard's pages share: session, role, step-up, lock, answers shown once."""

import functools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from flask import (
    after_this_request,
    jsonify,
    make_response,
    redirect,
    render_template,
    request,
    url_for,
)
from flask.typing import ResponseReturnValue
from werkzeug import Response

from testimonials.auth.cookies import (
    opened_cookie,
    read_session_cookie,
    renew_session_cookie,
    set_cookie,
    theme_cookie,
)
from testimonials.auth.login import keep_draft, render_login
from testimonials.auth.sessions import (
    PROOF_LIFETIME,
    SessionEnded,
    SignedIn,
    find_session,
    has_fresh_proof,
)
from testimonials.auth.step_up import (
    FIELDS,
    WaysIn,
    describe_company_proof,
    find_proofs,
    take_proof,
    was_proof_sent,
)
from testimonials.core.audit import ActorKind, act_as
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.extensions import begin_write, db, let_others_write
from testimonials.core.http.form_errors import Errors, wants_json
from testimonials.core.http.i18n import gettext, translate, use_language
from testimonials.core.http.idempotency import take_key
from testimonials.core.http.resource import View
from testimonials.core.http.security import answer_privately
from testimonials.core.http.urls import current_path, image_url
from testimonials.dashboard.proposal_data import count_for
from testimonials.projects.access import (
    Access,
    Role,
    StrongSignInNeeded,
    find_access,
    list_last_shared,
)
from testimonials.projects.models import Project
from testimonials.testimonials.inbox import count_tabs

# The dashboard's guards, and the frame around every page.

THEMES = ("system", "light", "dark")
# So many projects can be chosen at the top of each page; the others are searched for.
SWITCHED = 10
YEAR_SECONDS = 365 * 86400


def require_session(view: View) -> View:
    """Pass the signed-in user to the view as ``owner``; let everybody else sign in first."""

    @functools.wraps(view)
    def wrapper(**arguments: object) -> ResponseReturnValue:
        owner = find_session(read_session_cookie())
        use_language(owner.language if owner else None)
        if owner is None:
            return _ask_to_sign_in()
        act_as(ActorKind.PERSON, owner.account_id)
        try:
            response = make_response(view(owner=owner, **arguments))
        except SessionEnded:
            return _ask_to_sign_in()
        except StrongSignInNeeded:
            return _ask_for_more()
        if owner.is_renewed:
            renew_session_cookie(response)
        # After signing out, the Back button must not bring a page back.
        response.headers["Cache-Control"] = "no-store"
        return response

    return wrapper


def require_role(needed: Role, *, for_update: bool = False) -> Callable[[View], View]:
    """Make a decorator that passes the view ``access`` to the project, and requires a session.

    With `for_update` the view runs in a writing transaction with the project locked. Raises
    `NotFound` and `RoleTooLow`.
    """

    def decorate(view: View) -> View:
        @require_session
        @functools.wraps(view)
        def wrapper(owner: SignedIn, project_id: str, **arguments: object) -> ResponseReturnValue:
            if for_update:
                begin_write()
            access = find_access(owner, project_id, needed, for_update=for_update)
            return view(access=access, **arguments)

        return wrapper

    return decorate


def lock_again(access: Access, needed: Role) -> Project:
    """Begin a writing transaction, and return the project locked; raises as `require_role`."""
    begin_write()
    return find_access(access.user, access.project.id, needed, for_update=True).project


def go_on_writing(access: Access, needed: Role) -> Project:
    """Commit a part of a long change, let others write, and return the project locked anew."""
    db.session.commit()
    let_others_write()
    return lock_again(access, needed)


def require_proof(
    purpose: str,
    back: str,
    *,
    is_download: bool = False,
    changes_ways_in: bool = False,
    lasts: timedelta = PROOF_LIFETIME,
) -> Callable[[View], View]:
    """Make a decorator, below `require_session`, for actions that need a recent proof of identity.

    If the last was too long ago, a page asks for a password, a passkey or a code and sends the same
    form again, so nothing is lost. `purpose` completes "Confirm that it’s you to"; `back` is the
    endpoint to cancel to. A download leaves the browser on this page, so after the proof it shows
    the download's button. See `find_proofs` for `changes_ways_in`. A proof counts for as long as it
    `lasts`.
    """

    def decorate(view: View) -> View:
        @functools.wraps(view)
        def wrapper(*, owner: SignedIn, **arguments: object) -> ResponseReturnValue:
            errors: Errors = {}
            ways = find_proofs(owner, changes_ways_in=changes_ways_in)
            is_enough = ways.has_password or owner.is_strong or not ways.is_any
            is_proved = has_fresh_proof(owner, lasts) and is_enough
            if not is_proved and was_proof_sent():
                owner, errors = take_proof(owner, ways)
                is_proved = not errors
            if is_proved and not (is_download and was_proof_sent()):
                return view(owner=owner, **arguments)
            page = _proof_page(owner, purpose, url_for(back), errors, None if is_proved else ways)
            return answer_privately(page, 200 if is_proved else 422 if errors else 401)

        return wrapper

    return decorate


def _proof_page(
    owner: SignedIn, purpose: str, back_url: str, errors: Errors, ways: WaysIn | None
) -> str:
    return render_template(
        "dashboard/proof.html",
        shell=build_shell(owner, "account"),
        purpose=translate(purpose),
        action=current_path(),
        fields=[each for each in request.form.items(multi=True) if each[0] not in FIELDS],
        back_url=back_url,
        errors=errors,
        ways=ways,
        is_proved=ways is None,
        **describe_company_proof(owner),
    )


def _ask_to_sign_in() -> ResponseReturnValue:
    if request.method == "POST":
        if wants_json():
            return jsonify({"message": gettext("You are signed out. Nothing was changed.")}), 401
        if draft := keep_draft():
            page = render_login(url_for("dashboard.home.show_start"), notice="kept", draft=draft)
            return answer_privately(page, 401)
    # A redirect can't send a form again.
    is_form = request.method == "POST"
    target = url_for("dashboard.home.show_start") if is_form else current_path(has_query=True)
    notice = "expired" if is_form or read_session_cookie() else "needed"
    return redirect(url_for("auth.show_login", next=target, notice=notice), 303)


def _ask_for_more() -> Response:
    """Lead to the page that says how to get into a project that asks for more than a password."""
    db.session.rollback()
    if request.method == "POST":
        raise StrongSignInNeeded
    target = current_path(has_query=True)
    return redirect(url_for("dashboard.account.show_needed", next=target), 303)


def build_shell(who: SignedIn | Access, active: str) -> dict[str, Any]:
    """Return what a page's frame shows: account, last projects, the current one, the theme."""
    theme = request.cookies.get(theme_cookie(), "system")
    access = who if isinstance(who, Access) else None
    owner, project = (who.user, who.project) if isinstance(who, Access) else (who, None)
    return {
        "email": owner.email,
        "who": owner.name,
        "has_name": owner.display_name is not None,
        "project": project and describe_project(project),
        # Colleagues who only moderate see the inbox alone.
        "is_admin": access is not None and access.is_admin,
        "is_owner": access is not None and access.role == Role.OWNER,
        # Readers see what moderators see, without what changes it.
        "may_decide": access is not None and access.may_decide,
        **_describe_switcher(owner, project),
        "active": active,
        "counts": project and count_tabs(project.id)[project.id],
        "proposals": access and count_for(access),
        "theme": theme if theme in THEMES else "system",
    }


def _describe_switcher(owner: SignedIn, project: Project | None) -> dict[str, Any]:
    """Return the projects to choose from, and whether there are more.

    Of many these are the ones that this browser opened last, which it keeps in a cookie.
    """
    known = request.cookies.get(opened_cookie(), "").split(".")
    opened = list(dict.fromkeys([*([project.id] if project else []), *known]))
    opened = [each for each in opened if is_identifier(each)][:SWITCHED]
    rows = list_last_shared(owner.account_id, opened, SWITCHED + 1)
    if has_more := len(rows) > SWITCHED:
        _keep_opened(opened, known)
    else:
        rows = sorted(rows, key=lambda row: (row.created_at, row.id), reverse=True)
    return {
        "projects": [
            describe_project(each) | {"is_current": project is not None and each.id == project.id}
            for each in rows[:SWITCHED]
        ],
        "has_more": has_more,
    }


def _keep_opened(opened: list[str], known: list[str]) -> None:
    """Have the browser keep which projects it opened last, if that changed."""
    if opened == known:
        return

    @after_this_request
    def keep(response: Response) -> Response:
        set_cookie(response, opened_cookie(), ".".join(opened), YEAR_SECONDS)
        return response


def describe_project(project: Project) -> dict[str, Any]:
    return {
        "name": project.name,
        "initial": project.name[:1].upper(),
        "url": url_for("dashboard.inbox.show_inbox", project_id=project.id),
        "logo_url": image_url(project.logo_id),
    }


# Forms whose answer shows a secret: to reload the page must not make another one.


def is_repeated(account_id: str) -> bool:
    """Return whether this form was sent before; note in this transaction that it was sent.

    Its field `once` tells one page with it from the next.
    """
    once = request.form.get("once", "")
    if not is_identifier(once):
        return False
    return take_key(db.session(), f"form:{account_id}", once, "") is not None
