"""The one page of OAuth that a person sees: what a program asks for, and Allow or Don’t allow."""

from flask import g, redirect, render_template, request
from flask.typing import ResponseReturnValue

from testimonials.auth.callers import DEFAULT_SCOPES, NEVER, Scope
from testimonials.auth.sessions import SignedIn
from testimonials.core.db.transactions import write
from testimonials.core.http.blueprints import oauth
from testimonials.core.http.form_errors import Errors
from testimonials.core.http.i18n import gettext, gettext_noop, translate
from testimonials.core.http.security import answer_privately
from testimonials.dashboard.framework import require_proof, require_session
from testimonials.integrations.oauth import (
    Asked,
    add_code,
    describe_place,
    find_request,
    origin_of,
)
from testimonials.projects.projects import list_projects

# What the page carries from the program's request into the form.
CARRIED = (
    "client_id",
    "redirect_uri",
    "response_type",
    "scope",
    "state",
    "code_challenge",
    "code_challenge_method",
    "resource",
)
ALL_PROJECTS = "all"
LIFETIMES = {
    "30": gettext_noop("30 days"),
    "90": gettext_noop("90 days"),
    "365": gettext_noop("One year"),
}


@oauth.get("/oauth/authorize")
@require_session
def show_consent(owner: SignedIn) -> ResponseReturnValue:
    """Show who asks for what."""
    return answer_privately(_page(owner, find_request(request.args), {}))


@oauth.post("/oauth/authorize")
@require_session
def allow(owner: SignedIn) -> ResponseReturnValue:
    """Take the browser back to the program, with a code for what was allowed."""
    asked = find_request(request.form)
    # The browser takes the answer of this form there, also after the password was asked for.
    g.form_target = origin_of(asked.redirect_uri)
    return _allow(owner=owner, asked=asked)


@require_proof("connect a program", "dashboard.home.show_start")
def _allow(owner: SignedIn, asked: Asked) -> ResponseReturnValue:
    sent = request.form
    scopes = [scope for scope in asked.scopes if scope in sent.getlist("scopes")]
    project = sent.get("project", "")
    if errors := _judge(owner, scopes, project, sent.get("days", "")):
        return answer_privately(_page(owner, asked, errors), 422)
    limit = None if project == ALL_PROJECTS else project
    with write():
        code = add_code(asked, owner, limit, scopes, int(sent["days"]))
    return redirect(asked.answer(code=code), 303)


def _judge(owner: SignedIn, scopes: list[Scope], project: str, days: str) -> Errors:
    errors: Errors = {}
    if not scopes:
        errors["scopes"] = [gettext("Choose at least one, or don’t allow it.")]
    own = {each.id for each in list_projects(owner.account_id)}
    if project not in own | {ALL_PROJECTS}:
        errors["project"] = [gettext("Choose one of your projects, or all.")]
    if days not in LIFETIMES:
        errors["days"] = [gettext("Choose one of these.")]
    return errors


def _page(owner: SignedIn, asked: Asked, errors: Errors) -> str:
    g.form_target = origin_of(asked.redirect_uri)
    sent = request.form if request.method == "POST" else request.args
    return render_template(
        "agents/consent.html",
        email=owner.email,
        client=asked.client.name,
        place=describe_place(asked.redirect_uri),
        decline_url=asked.answer(error="access_denied"),
        carried=[(name, sent[name]) for name in CARRIED if name in sent],
        scopes=asked.scopes,
        checked=sent.getlist("scopes") if errors else DEFAULT_SCOPES,
        projects={each.id: each.name for each in list_projects(owner.account_id)}
        | {ALL_PROJECTS: gettext("All projects")},
        # Not from the link: the program wrote that.
        project=request.form.get("project"),
        lifetimes={days: translate(text) for days, text in LIFETIMES.items()},
        days=request.form.get("days", "90"),
        never=NEVER,
        errors=errors,
    )
