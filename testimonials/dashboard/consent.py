"""The one page of OAuth that a person sees: what a program asks for, and Allow or Don’t allow."""

from collections.abc import Mapping

from flask import g, redirect, render_template, request
from flask.typing import ResponseReturnValue
from marshmallow import fields

from testimonials.auth.callers import DEFAULT_SCOPES, NEVER, Scope
from testimonials.auth.sessions import SignedIn
from testimonials.core.db.transactions import write
from testimonials.core.http.blueprints import oauth
from testimonials.core.http.fields import Choice
from testimonials.core.http.forms import Choices, FormSchema, SentForm
from testimonials.core.http.i18n import gettext, gettext_noop, translate
from testimonials.core.http.security import answer_privately
from testimonials.dashboard.framework import require_session
from testimonials.dashboard.proofs import require_proof
from testimonials.integrations.oauth import Asked, add_code, describe_place, find_request, origin_of
from testimonials.projects.projects import list_projects

ALL_PROJECTS = "all"
LIFETIMES = {
    "30": gettext_noop("30 days"),
    "90": gettext_noop("90 days"),
    "365": gettext_noop("One year"),
}


class AskedForm(FormSchema):
    """What the program asks for, which the page carries from its link into the form."""

    client_id = fields.String()
    redirect_uri = fields.String()
    response_type = fields.String()
    scope = fields.String()
    state = fields.String()
    code_challenge = fields.String()
    code_challenge_method = fields.String()
    resource = fields.String()


class ConsentForm(FormSchema):
    scopes = Choices(*Scope, missing=gettext_noop("Choose at least one, or don’t allow it."))
    project = fields.String(load_default="")
    days = Choice(*LIFETIMES, missing=gettext_noop("Choose one of these."))


def _read_asked(form: Mapping[str, str] | None = None) -> dict[str, str]:
    sent = AskedForm().read(form).values
    return {name: text for name, text in sent.items() if text is not None}


@oauth.get("/oauth/authorize")
@require_session
def show_consent(owner: SignedIn) -> ResponseReturnValue:
    carried = _read_asked(request.args)
    return answer_privately(_page(owner, find_request(carried), carried))


@oauth.post("/oauth/authorize")
@require_session
def allow(owner: SignedIn) -> ResponseReturnValue:
    """Take the browser back to the program, with a code for what was allowed."""
    carried = _read_asked()
    asked = find_request(carried)
    # The browser takes the answer of this form there, also after the password was asked for.
    g.form_target = origin_of(asked.redirect_uri)
    return _allow(owner=owner, asked=asked, carried=carried)


@require_proof("connect a program", "dashboard.home.show_start")
def _allow(owner: SignedIn, asked: Asked, carried: dict[str, str]) -> ResponseReturnValue:
    sent = ConsentForm().read()
    scopes = [scope for scope in asked.scopes if scope in sent.values.get("scopes", ())]
    if not scopes:
        missing = gettext("Choose at least one, or don’t allow it.")
        sent.errors.setdefault("scopes", [missing])
    project = sent.values.get("project", "")
    if project not in _list_choices(owner):
        sent.errors["project"] = [gettext("Choose one of your projects, or all.")]
    if sent.errors:
        return answer_privately(_page(owner, asked, carried, sent), 422)
    limit = None if project == ALL_PROJECTS else project
    with write():
        code = add_code(asked, owner, limit, scopes, int(sent.values["days"]))
    return redirect(asked.answer(code=code), 303)


def _list_choices(owner: SignedIn) -> dict[str, str]:
    own = {each.id: each.name for each in list_projects(owner.account_id)}
    return own | {ALL_PROJECTS: gettext("All projects")}


def _page(
    owner: SignedIn, asked: Asked, carried: dict[str, str], sent: SentForm | None = None
) -> str:
    g.form_target = origin_of(asked.redirect_uri)
    # Not from the link: the program wrote that.
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
        projects=_list_choices(owner),
        project=typed["project"],
        lifetimes={days: translate(text) for days, text in LIFETIMES.items()},
        days=typed["days"],
        never=NEVER,
        errors=sent.errors if sent else {},
    )
