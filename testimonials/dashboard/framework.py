"""Pages and their buttons: session, role, step-up, transaction, errors, notice, undo."""

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from flask import (
    Blueprint,
    current_app,
    jsonify,
    make_response,
    redirect,
    render_template,
    request,
    url_for,
)
from flask.typing import ResponseReturnValue
from marshmallow.fields import Field
from werkzeug import Response

from testimonials.auth import step_up
from testimonials.auth.cookies import read_session_cookie, renew_session_cookie
from testimonials.auth.login import keep_draft, render_login
from testimonials.auth.sessions import (
    PROOF_LIFETIME,
    SessionEnded,
    SignedIn,
    find_session,
    has_fresh_proof,
)
from testimonials.core import clock
from testimonials.core.audit import ActorKind, act_as
from testimonials.core.db.identifiers import is_identifier, new_identifier
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.errors import (
    Errors,
    ServiceError,
    ValidationFailed,
    answer_errors,
    is_from_script,
    to_form_errors,
)
from testimonials.core.http.fields import Text
from testimonials.core.http.forms import FormSchema, SentForm, add_notice, read_notice
from testimonials.core.http.i18n import gettext, translate, use_language
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.idempotency import take_key
from testimonials.core.http.resource import View
from testimonials.core.http.security import answer_privately
from testimonials.core.http.urls import current_path
from testimonials.core.jobs import Job, enqueue, job
from testimonials.dashboard.shell import build_shell
from testimonials.projects.access import Access, Role, StrongSignInNeeded, find_access
from testimonials.projects.models import Project
from testimonials.projects.projects import lock_account_of


def require_proof(purpose: str, back: str, **options: Any) -> Callable[[View], View]:
    """Require a proof (`prove`), below `require_session`; `back` is the endpoint to cancel to."""

    def decorate(view: View) -> View:
        @functools.wraps(view)
        def wrapper(*, owner: SignedIn, **arguments: object) -> ResponseReturnValue:
            owner, page = prove(owner, purpose, url_for(back), **options)
            return view(owner=owner, **arguments) if page is None else page

        return wrapper

    return decorate


def prove(
    owner: SignedIn,
    purpose: str,
    back_url: str,
    *,
    is_download: bool = False,
    changes_ways_in: bool = False,
    lasts: timedelta = PROOF_LIFETIME,
) -> tuple[SignedIn, Response | None]:
    """Return the person, and the page that asks for a proof if the last is older than `lasts`.

    The page asks for a password, a passkey or a code, and resends the same form. `purpose`
    completes "Confirm that it’s you to". Since a download leaves the browser on this page, it shows
    the download's button after the proof. See `find_proofs` for `changes_ways_in`.
    """
    errors: Errors = {}
    ways = step_up.find_proofs(owner, changes_ways_in=changes_ways_in)
    is_enough = ways.has_password or owner.is_strong or not ways.is_any
    is_proved = has_fresh_proof(owner, lasts) and is_enough
    if not is_proved and step_up.was_proof_sent():
        owner, errors = step_up.take_proof(owner, ways)
        is_proved = not errors
    if is_proved and not (is_download and step_up.was_proof_sent()):
        return owner, None
    page = _proof_page(owner, purpose, back_url, errors, None if is_proved else ways)
    return owner, answer_privately(page, 200 if is_proved else 422 if errors else 401)


def _proof_page(
    owner: SignedIn, purpose: str, back_url: str, errors: Errors, ways: step_up.WaysIn | None
) -> str:
    return render_template(
        "dashboard/proof.html",
        shell=build_shell(owner, "account"),
        purpose=translate(purpose),
        action=current_path(),
        back_url=back_url,
        errors=errors,
        ways=ways,
        is_proved=ways is None,
        **step_up.describe_proof(owner),
    )


Values = dict[str, Any]
LockFirst = Callable[[SignedIn, Mapping[str, str]], object]


def require_session(view: View) -> View:
    """Pass the signed-in user to the view as ``owner``; redirect others to sign in."""

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
        # After signing out, the Back button must not show a page again.
        response.headers["Cache-Control"] = "no-store"
        return response

    return wrapper


def require_role(needed: Role) -> Callable[[View], View]:
    """Decorate a view that isn't a page: pass ``access``, or raise `NotFound` or `RoleTooLow`."""

    def decorate(view: View) -> View:
        @require_session
        @functools.wraps(view)
        def wrapper(owner: SignedIn, project_id: str, **arguments: object) -> ResponseReturnValue:
            return view(access=find_access(owner, project_id, needed), **arguments)

        return wrapper

    return decorate


def _ask_to_sign_in() -> ResponseReturnValue:
    if request.method == "POST":
        if is_from_script():
            return jsonify({"message": gettext("You are signed out. Nothing was changed.")}), 401
        if draft := keep_draft():
            page = render_login(url_for("dashboard.home.show_start"), notice="kept", draft=draft)
            return answer_privately(page, 401)
    # A redirect can't resend a form.
    is_form = request.method == "POST"
    target = url_for("dashboard.home.show_start") if is_form else current_path(has_query=True)
    notice = "expired" if is_form or read_session_cookie() else "needed"
    return redirect(url_for("auth.show_login", next=target, notice=notice), 303)


def _ask_for_more() -> Response:
    """Redirect to the page about projects that require more than a password."""
    db.session.rollback()
    if request.method == "POST":
        raise StrongSignInNeeded
    target = current_path(has_query=True)
    return redirect(url_for("dashboard.account.show_needed", next=target), 303)


# A page and its buttons.
#
# domain = ProjectPage(settings, "settings/domain", "settings/domain.html", role=Role.ADMIN)
#
# @domain.show
# def show_domain(access: Access) -> Values:
#     return {"domain": find_domain(access.project)}
#
# @domain.save(HostForm)
# def set_domain(access: Access, host: str) -> Done:
#     domains.set_domain(access.project, host)
#     return Done(_("Add these records now."))

# Every page may use the macros in these templates.
PIECES = ("_macros.html", "dashboard/_macros.html", "dashboard/_rows.html")
# After errors with these statuses the form is shown again; others have a page of their own.
CORRECTABLE = (400, 402, 409, 422, 429)


@dataclass(frozen=True)
class Done:
    """What a button did: a notice, and the URL that shows it, by default the page itself.

    `undo` names the batch that the notice offers to undo, or what `undo_url` restores. Instead,
    `page` is rendered at once with the values `shown`. `finish` gets the response after the commit,
    to set cookies.
    """

    notice: str = ""
    to: str = ""
    anchor: str = ""
    undo: str | None = None
    undo_url: str = ""
    page: "AccountPage | None" = None
    shown: Values = field(default_factory=dict)
    finish: Callable[[Response], object] | None = None


class AccountPage:
    """A page for a signed-in person: `show` describes it, each `save` is a button.

    Its views get the person, and the arguments of the path. `nav` is the active item of the
    navigation, by default the template's folder. A page that only answers a button has no `show`,
    and is `part_of` the page with that endpoint.
    """

    def __init__(
        self, blueprint: Blueprint, path: str, template: str, *, nav: str = "", part_of: str = ""
    ) -> None:
        self.blueprint = blueprint
        self.path = path
        self.template = template
        self.nav = nav or template.partition("/")[0]
        self.endpoint = part_of
        self.describe: Callable[..., Values | Response] = lambda who, **parts: {}

    def show(self, view: Callable[..., Values | Response]) -> Callable[..., Values | Response]:
        """Render the page with the values that `view` returns, or send the response it returns.

        The template also gets a `notice`, `errors` by field, and what was `typed` in a rejected
        form, for which the view may return initial values. Macros of `PIECES` need no import,
        except in templates that others import.
        """
        self.endpoint = f".{view.__name__}"
        self.describe = view

        @require_session
        @functools.wraps(view)
        def page(owner: SignedIn, **parts: Any) -> ResponseReturnValue:
            return self.render(self.enter(owner, parts), parts)

        self.blueprint.get(self.path)(page)
        return view

    def save(
        self,
        form: type[FormSchema] | dict[str, Field[Any]] | None = None,
        *,
        at: str = "",
        role: Role | None = None,
        step_up: str = "",
        changes_ways_in: bool = False,
        prepare: Callable[..., Any] | None = None,
        lock_first: LockFirst | None = None,
        takes: int = 0,
    ) -> Callable[[Callable[..., Done]], Callable[..., Done]]:
        """Run the view of the button at the page's path plus `at`, in one transaction.

        The view also gets the values of the `form`, a schema or its fields by name. An error that
        can be corrected shows the page again, as filled in. `step_up` requires a fresh proof, and
        says for what. `prepare` does what takes long before anything is locked; the view gets its
        result as `prepared`. `lock_first` takes locks that come before the project's. A form with
        files `takes` as many bytes.
        """
        schema: Any = FormSchema.from_dict(form) if isinstance(form, dict) else form or FormSchema

        def decorate(view: Callable[..., Done]) -> Callable[..., Done]:
            @require_session
            @functools.wraps(view)
            def button(owner: SignedIn, **parts: Any) -> ResponseReturnValue:
                if step_up:
                    url = self.url(parts)
                    owner, page = prove(owner, step_up, url, changes_ways_in=changes_ways_in)
                    if page is not None:
                        return page
                sent = _read(schema, takes)
                try:
                    values = self.values_of(parts) | _check(sent)
                    if prepare is not None:
                        values["prepared"] = prepare(self.enter(owner, parts, role), **values)
                    with write(partial(self._lock, owner, parts, role, lock_first)) as who:
                        if (once := values.pop("once", None)) is not None:
                            values["is_repeated"] = _is_repeated(owner.account_id, once)
                        done = view(who, **values)
                except ServiceError as error:
                    return self._refuse(owner, parts, role, sent, error)
                return self._answer(done, owner, parts)

            self.blueprint.post(self.path + at)(button)
            return view

        return decorate

    def _lock(
        self,
        owner: SignedIn,
        parts: Mapping[str, str],
        role: Role | None,
        lock_first: LockFirst | None,
    ) -> SignedIn | Access:
        if lock_first is not None:
            lock_first(owner, parts)
        return self.enter(owner, parts, role, for_update=True)

    def enter(
        self,
        owner: SignedIn,
        parts: Mapping[str, str],
        role: Role | None = None,
        *,
        for_update: bool = False,
    ) -> SignedIn | Access:
        """Return the first argument of the views; raise if the person may not see the page."""
        return owner

    def values_of(self, parts: Mapping[str, str]) -> Values:
        """Return the arguments of the path that views get."""
        return dict(parts)

    def url(self, parts: Mapping[str, str]) -> str:
        """Return the page's URL, for the arguments of a button's path."""
        own: Values = {name: parts[name] for name in re.findall(r"<(\w+)", self.path)}
        return url_for(self.endpoint, **own)

    def render(
        self, who: SignedIn | Access, parts: Mapping[str, str], status: int = 200, **more: Any
    ) -> Response:
        own = {name: text for name, text in parts.items() if f"{name}>" in self.path}
        values = self.describe(who, **self.values_of(own))
        if isinstance(values, Response):
            return values
        frame = _list_pieces() | {"notice": read_notice(), "errors": {}}
        frame["shell"] = values.get("shell") or build_shell(who, self.nav)
        # A refused button's form has only its own fields.
        more["typed"] = values.get("typed", {}) | more.get("typed", {})
        page = render_template(f"dashboard/{self.template}", **frame | values | more)
        return answer_privately(page, status)

    def _refuse(
        self,
        owner: SignedIn,
        parts: Mapping[str, str],
        role: Role | None,
        sent: SentForm,
        error: ServiceError,
    ) -> ResponseReturnValue:
        # A button without a page can't show a form again.
        if error.status not in CORRECTABLE or not (self.template or is_from_script()):
            raise error
        # Errors are only for those who may send the form.
        who = self.enter(owner, parts, role)
        errors = to_form_errors(error, next(iter(sent.typed), "form"))
        status = 422 if isinstance(error, ValidationFailed) else error.status
        if is_from_script():
            return answer_errors(errors, status)
        more: Values = {"errors": errors} | ({"typed": sent.typed} if sent.typed else {})
        response = self.render(who, parts, status, **more)
        response.headers.extend(error.headers)
        return response

    def _answer(self, done: Done, owner: SignedIn, parts: Mapping[str, str]) -> ResponseReturnValue:
        if done.page is not None:
            response = done.page.render(done.page.enter(owner, parts), parts, **done.shown)
        else:
            url = done.to or self.url(parts)
            if done.notice:
                url = add_notice(url, done.notice, done.undo, done.undo_url)
            url += done.anchor and f"#{done.anchor}"
            result = {"ok": True, "message": done.notice, "to": url}
            response = jsonify(result | done.shown) if is_from_script() else redirect(url, 303)
        if done.finish is not None:
            done.finish(response)
        return response


def _list_pieces() -> Values:
    """Return the macros of `PIECES` by name."""
    modules = (current_app.jinja_env.get_template(name).module for name in PIECES)
    return {
        name: macro for module in modules for name, macro in vars(module).items() if name[0] != "_"
    }


def _read(form: type[FormSchema], takes: int) -> SentForm:
    request.max_content_length = takes or request.max_content_length
    return form().read()


def _check(sent: SentForm) -> Values:
    if sent.errors:
        raise ValidationFailed.of(sent.errors)
    return sent.values


class ProjectPage(AccountPage):
    """A page at a path below a project's, for those with a role in it.

    Its views get their `Access`; in buttons, the project is locked.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        path: str,
        template: str,
        *,
        role: Role = Role.ADMIN,
        nav: str = "",
        part_of: str = "",
    ) -> None:
        path = f"/dashboard/projects/<project_id>/{path}"
        super().__init__(blueprint, path, template, nav=nav, part_of=part_of)
        self.role = role

    def enter(
        self,
        owner: SignedIn,
        parts: Mapping[str, str],
        role: Role | None = None,
        *,
        for_update: bool = False,
    ) -> Access:
        return find_access(owner, parts["project_id"], role or self.role, for_update=for_update)

    def values_of(self, parts: Mapping[str, str]) -> Values:
        return {name: text for name, text in parts.items() if name != "project_id"}


def lock_account_first(_owner: SignedIn, parts: Mapping[str, str]) -> None:
    """Lock the account, whose limit of requests by email covers all of its projects."""
    lock_account_of(parts["project_id"])


def _is_repeated(account_id: str, once: str) -> bool:
    """Return whether a form was sent before, and store in this transaction that it was.

    Reloading a page that shows a secret must not create another one.
    """
    return bool(once) and take_key(db.session(), f"form:{account_id}", once, "") is not None


# How long something deleted can be restored, by the button of its notice.
UNDO = timedelta(minutes=10)
FORGET = "removed.forget"


class UndoForm(FormSchema):
    undo = Text(40, load_default="")


def keep_removed(project: Project, what: str, **values: object) -> str:
    """Keep the values of something deleted; return the id for `take_removed`."""
    id = new_identifier()
    enqueue(FORGET, id=id, run_at=clock.now() + UNDO, of=[project.id, what], values=values)
    return id


def take_removed(project: Project, what: str, id: str) -> Values:
    """Return the kept values, once; raise `ValidationFailed`."""
    row = db.session.get(Job, id) if is_identifier(id) else None
    if row is None or row.kind != FORGET or row.payload["of"] != [project.id, what]:
        raise ValidationFailed.of({"form": [_("This can no longer be undone.")]})
    db.session.delete(row)
    values: Values = row.payload["values"]
    return values


@job(FORGET, "jobs")
def forget(**_kept: object) -> None:
    """Do nothing: a finished job is deleted, with the kept values."""
