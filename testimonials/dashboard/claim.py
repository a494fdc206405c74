"""The page on which people claim an account, by a magic link or the company's sign-in.

A GET changes nothing, since mail scanners open links. The POST redeems the link, and creates the
project with its page and widget. People who never asked for the account can delete it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from flask import Response, jsonify, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from marshmallow import fields

from testimonials.auth import accounts, cookies, events, magic_links
from testimonials.auth.credentials import CLAIM_PER_ADDRESS, hash_password, judge_password
from testimonials.auth.models import Account
from testimonials.auth.oidc.accounts import claim_for, lock_waiting, read_claim_token, signed_in
from testimonials.auth.oidc.client import CompanyPerson
from testimonials.auth.passkeys import add_passkey, has_passkeys, offer_passkey
from testimonials.auth.schemas import NewLinkForm, PasskeyAnswerForm
from testimonials.auth.sessions import SignInMethod
from testimonials.core.audit import ActorKind, act_as, record
from testimonials.core.db.transactions import write
from testimonials.core.event_lists import describe_browser, translate_browser
from testimonials.core.extensions import limiter
from testimonials.core.http.blueprints import auth
from testimonials.core.http.errors import ServiceError, ValidationFailed, to_form_errors
from testimonials.core.http.forms import FormSchema, Secret, SentForm, add_notice
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.security import answer_privately
from testimonials.core.http.urls import collection_page_url, image_url
from testimonials.core.images.uploads import UPLOAD_FORM_BYTES, Image
from testimonials.core.settings.table import current_settings
from testimonials.dashboard.brand import (
    BrandForm,
    choose,
    describe_screen,
    fill_in,
    keep_brand,
    next_address,
    read_logo,
)
from testimonials.dashboard.framework import CORRECTABLE, Values
from testimonials.projects import brand as brands
from testimonials.projects.events import PROJECT_DELETED
from testimonials.projects.models import Project
from testimonials.projects.projects import (
    complete_website,
    create_project,
    list_projects,
    lock_project,
)
from testimonials.projects.proposals import count_waiting
from testimonials.projects.settings import delete_projects
from testimonials.projects.website import begin_reading, enqueue_reading, own_domain
from testimonials.testimonials.testimonials import (
    describe_issued,
    describe_keys,
    mark_added,
    summarize_projects,
)

Errors = dict[str, list[str]]
# What a project's brand keeps of the reading of its website.
KEPT = tuple(brands.ReadingSchema().fields)

# What an agent has created, which the person keeps or drops.


class KeyForm(FormSchema):
    """What to do with the agent's key; `drop` deletes its projects."""

    key = fields.String(load_default="")
    # The end of the key that the page has shown.
    key_seen = fields.String(load_default="")
    drop = fields.String()


def find_key_errors(account: Account, other: str, values: Values) -> Errors:
    """Return an error if the form neither keeps the agent's key nor chooses `other`."""
    problem = accounts.find_key_problem(account, values["key"], other, values["key_seen"])
    return {"key": [problem]} if problem else {}


def drop_what_is_unwanted(account: Account, values: Values) -> None:
    """Delete the agent's projects and key if the form says so; tag what remains."""
    if values["drop"]:
        for project in delete_projects(account.id):
            record(PROJECT_DELETED, project, name=project.name)
    if values["key"] == "drop" and account.has_key:
        accounts.drop_key(account)
        record(events.KEY_DROPPED, account.id)
    mark_added(account.id)


def describe_begun(account: Account | None) -> Values:
    """Return what pages show of an account that an agent created."""
    return {
        "agent_key": account if account and account.has_key else None,
        "projects": summarize_projects(account.id) if account else [],
        "keys": describe_keys(account.id) if account else {},
    }


class ClaimForm(BrandForm, KeyForm, PasskeyAnswerForm):
    password = Secret()
    # The id of one of the website's logos.
    picture = fields.String(load_default="")


@dataclass(frozen=True)
class Begun:
    """An account before it is claimed: its first project, if any, and its brand."""

    account: Account
    project: Project | None
    brand: brands.Brand
    # What was read on the website at the domain of the email address.
    read: Values

    @property
    def logos(self) -> dict[str, str | None]:
        """The URLs of the website's possible logos, by id."""
        return {id: image_url(id) for id in self.read.get("logos", [])}

    @property
    def needs_name(self) -> bool:
        return self.project is None and not self.account.has_key


def _read_begun(account: Account) -> Begun:
    if projects := list_projects(account.id):
        return Begun(account, projects[-1], brands.find_brand(projects[-1]), {})
    read = account.website_read or {}
    trade = read.get("trade") or brands.guess_trade(read.get("name", ""))
    brand = brands.Brand(
        name=read.get("name", ""),
        website=own_domain(account.email),
        logo_url=image_url(next(iter(read.get("logos", [])), None)),
        color=read.get("color") or brands.TRADES[trade],
        font=brands.FONTS[0],
        trade=trade,
        site_typeface=read.get("typeface") or "plain",
    )
    return Begun(account, None, brand, read)


@dataclass(frozen=True)
class Proof:
    """How somebody proves that the account is theirs."""

    find: Callable[[], Account]
    person: CompanyPerson | None = None
    target: str = ""


def _by_link(token: str) -> Proof:
    return Proof(partial(magic_links.find_account_of_link, token))


def _by_company() -> Proof:
    person, target = read_claim_token(cookies.read_cookie(cookies.ARRIVAL))
    return Proof(partial(lock_waiting, person), person, target)


@auth.get("/claim/<token>")
def show_claim(token: str) -> ResponseReturnValue:
    proof = _by_link(token)
    if not proof.find().has_created_project:
        begin_reading(proof.find, token)
    return _show(proof)


@auth.get("/login/company/claim")
def show_sso_claim() -> ResponseReturnValue:
    return _show(_by_company())


@auth.post("/claim/<token>")
@limiter.per_address(CLAIM_PER_ADDRESS)
def redeem_claim(token: str) -> ResponseReturnValue:
    """Claim the account with a password or a passkey; keep or replace the agent's key."""
    return _redeem(_by_link(token))


@auth.post("/login/company/claim")
@limiter.per_address(CLAIM_PER_ADDRESS)
def claim_with_company() -> ResponseReturnValue:
    """Claim the account without a password."""
    return _redeem(_by_company())


@auth.post("/claim/<token>/passkey")
@limiter.per_address(CLAIM_PER_ADDRESS)
def begin_claim_by_passkey(token: str) -> ResponseReturnValue:
    """Return the options for creating a passkey."""
    account = magic_links.find_account_of_link(token)
    accounts.require_passwords()
    return jsonify(offer_passkey(account.id, account.email, account.email, account.id))


@auth.get("/claim/<token>/address")
def show_next_address(token: str) -> ResponseReturnValue:
    """Return the address and the trade for the name being typed (``?name=``)."""
    magic_links.find_account_of_link(token)
    name = request.args.get("name", "")
    values = {"address": next_address(name), "trade": brands.guess_trade(name)}
    return answer_privately(make_response(values))


def _redeem(proof: Proof) -> ResponseReturnValue:
    # The larger body is only for those who may claim it.
    account = proof.find()
    request.max_content_length = UPLOAD_FORM_BYTES
    sent = ClaimForm().read(is_partial=True)
    values = {"key": "", "key_seen": "", "drop": None, "password": "", "passkey": ""} | sent.values
    try:
        _check(
            _read_begun(account),
            values,
            sent.errors | _find_password_problem(account, values, proof),
        )
        logo, password_hash = read_logo(), None
        if proof.person is None and not values["passkey"]:
            password_hash = hash_password(values["password"])
        with write(proof.find) as account:
            # Again under the lock: another request may have redeemed the link, or the agent may
            # have a new key.
            begun = _read_begun(account)
            _check(begun, values, {})
            new_key = _claim(account, values, password_hash, proof.person)
            project = None if values["drop"] else _keep_project(begun, values, logo)
            cookie = _sign_in(account, proof, by_passkey=bool(values["passkey"]))
            has_proposals = project is not None and count_waiting(project.id) > 0
    except magic_links.LinkInvalid:
        raise
    except ServiceError as error:
        if error.status not in CORRECTABLE:
            raise
        return _show(proof, sent, to_form_errors(error, "password"))
    response = make_response(_continue(account, new_key, project, proof.target, has_proposals))
    cookies.set_session_cookie(response, account, cookie)
    return response


def _find_password_problem(account: Account, values: Values, proof: Proof) -> Errors:
    """Return what is wrong with the password; raise `PasswordsOff`."""
    if proof.person is not None:
        return {}
    accounts.require_passwords()
    is_needed = not values["passkey"]
    problem = judge_password(values["password"], account.email) if is_needed else None
    return {"password": [problem]} if problem else {}


def _check(begun: Begun, values: Values, errors: Errors) -> None:
    """Raise `ValidationFailed` for the form's `errors` and those that depend on the account."""
    errors = {**errors}
    if begun.needs_name and not values.get("name"):
        errors["businessName"] = [_("Enter the name of your business.")]
    errors |= find_key_errors(begun.account, "replace", values)
    if errors:
        raise ValidationFailed.of(errors)


def _claim(
    account: Account, values: Values, password_hash: str | None, person: CompanyPerson | None
) -> str | None:
    """Claim the locked account; return its new key, if it gets one."""
    is_replaced = account.has_key and values["key"] == "replace"
    new_key = accounts.replace_key(account) if is_replaced else None
    act_as(ActorKind.PERSON, account.id)
    drop_what_is_unwanted(account, values)
    if person is not None:
        claim_for(account, person)
        record(events.COMPANY_LINKED, account.id, who=person.email)
        signed_in.send(account.id, who=account.email, groups=person.groups)
    else:
        accounts.claim_account(account, password_hash)
    if values["passkey"]:
        name = translate_browser(describe_browser(request.user_agent.string))
        add_passkey(account, account.id, values, name)
    record(events.ACCOUNT_CLAIMED, account.id)
    if new_key is not None:
        record(events.KEY_REPLACED, account.id)
    return new_key


def _keep_project(begun: Begun, values: Values, logo: Image | None) -> Project | None:
    """Change the first project as the form says, or create it."""
    project, brand = begun.project, begun.brand
    website = values.get("website", brand.website)
    if project is not None:
        project = lock_project(project.id)
        name = values.get("name", project.business_name)
        keep_brand(project, brand, **values | {"name": name, "website": website})
    elif name := values.get("name", brand.name):
        read = {field: begun.read[field] for field in KEPT if field in begun.read}
        chosen = choose(values, brand) | ({"read": read} if read else {})
        new = {"businessName": name, "website": website, "brand": chosen}
        project = create_project(begun.account.id, new, finds_slug=True)
        if values.get("picture") in begun.logos:
            project.brand_logo_id = values["picture"]
        if not read or complete_website(brand.website) != project.page_config["website"]:
            enqueue_reading(project)
    if project is not None and logo is not None:
        brands.set_brand_logo(project, logo)
    return project


def _sign_in(account: Account, proof: Proof, *, by_passkey: bool) -> str:
    if proof.person is not None:
        company = current_settings().company_name
        return cookies.sign_browser_in(account, SignInMethod.COMPANY, company, is_proved=False)
    method = SignInMethod.PASSKEY if by_passkey else SignInMethod.LINK
    return cookies.sign_browser_in(account, method, "claim link")


def _continue(
    account: Account,
    new_key: str | None,
    project: Project | None,
    target: str,
    has_proposals: bool,
) -> ResponseReturnValue:
    """Redirect to Collect, or to the agent's proposals; show a new key first."""
    if project is None:
        url = url_for("dashboard.home.show_start")
    elif has_proposals:
        url = url_for("dashboard.inbox.show_inbox", project_id=project.id)
    else:
        url = url_for("dashboard.collect.show_collect", project_id=project.id)
    if new_key is not None:
        shown = {"title": _("Account claimed"), "new_key": new_key, "next_url": url}
        page = render_template("auth/new_key.html", account_id=account.id, **shown)
        return answer_privately(page)
    if project is not None and not has_proposals:
        text = "Your page is open. Ask three people who know you. Their words arrive in your inbox."
        url = add_notice(url, _(text))
    return answer_privately(make_response(redirect(target or url)), 303)


def _show(proof: Proof, sent: SentForm | None = None, errors: Errors | None = None) -> Response:
    account = proof.find()
    begun = _read_begun(account)
    project, brand, sent = begun.project, begun.brand, sent or SentForm({}, {}, {})
    name = project.business_name if project is not None else brand.name
    stored = project.brand if project is not None else {"read": begun.read}
    typed = fill_in(brand, name) | sent.typed
    address = (
        next_address(typed["businessName"])
        if project is None
        else collection_page_url(project.slug, project.own_host).partition("://")[2]
    )
    # The preview shows the name only if it is valid.
    shown = {"name": sent.values.get("name") or name or _("Your business")}
    shown |= choose(sent.values, brand)
    page = render_template(
        "auth/claim.html",
        account=account,
        project=project,
        needs_name=begun.needs_name,
        is_by_company=proof.person is not None,
        can_have_passkeys=has_passkeys(),
        address=address,
        has_proposals=project is not None and count_waiting(project.id) > 0,
        logos=begun.logos,
        is_reading=begun.read.keys() == {"link"},
        is_read=any(begun.read.get(field) for field in ("name", "color", "logos")),
        typed=typed,
        errors=errors or {},
        **describe_begun(account),
        **describe_screen(replace(brand, **shown), stored),
    )
    return answer_privately(page, 422 if errors else 200)


# For those who never asked for an account.


@auth.get("/claim/<token>/decline")
def show_decline(token: str) -> ResponseReturnValue:
    """Show what would be deleted with the unclaimed account."""
    account = magic_links.find_account_of_link(token)
    projects = summarize_projects(account.id)
    return answer_privately(
        render_template("auth/decline.html", email=account.email, projects=projects)
    )


@auth.post("/claim/<token>/decline")
@limiter.per_address(CLAIM_PER_ADDRESS)
def decline_claim(token: str) -> ResponseReturnValue:
    with write(partial(magic_links.find_account_of_link, token)) as account:
        accounts.delete_account(account)
        record(events.ACCOUNT_DELETED, None, account=account.id)
    return redirect(url_for(".show_declined"), 303)


@auth.get("/claim/declined")
def show_declined() -> ResponseReturnValue:
    return render_template("auth/declined.html")


@auth.get("/not-me/<token>")
def show_not_me(token: str) -> ResponseReturnValue:
    """Ask the recipient of the email about a new key whether to revoke it."""
    account = magic_links.find_account_of_key(token)
    shown = {"email": account.email, "issued": describe_issued(account.id)[:1]}
    return answer_privately(render_template("auth/not_me.html", **shown))


@auth.post("/not-me/<token>")
@limiter.per_address(CLAIM_PER_ADDRESS)
def revoke_key(token: str) -> ResponseReturnValue:
    """Revoke the key of an unclaimed account, but delete nothing."""
    with write(partial(magic_links.find_account_of_key, token)) as account:
        accounts.drop_key(account)
        act_as(ActorKind.PERSON, account.id)
        record(events.KEY_DROPPED, account.id)
    return redirect(url_for(".show_revoked"), 303)


@auth.get("/claim/revoked")
def show_revoked() -> ResponseReturnValue:
    return render_template("auth/revoked.html")


# Links that don't work.


@auth.get("/claim")
def show_link_request() -> ResponseReturnValue:
    return _link_problem("invalid")


@auth.post("/claim")
def send_new_link() -> ResponseReturnValue:
    """Email a new link if there is an account to claim; the response is the same if not."""
    sent = NewLinkForm().read()
    if sent.errors:
        return _link_problem("invalid", sent.typed["email"], sent.errors), 422
    email = sent.values["email"]
    magic_links.request_link(magic_links.LinkPurpose.CLAIM, email, cookies.describe_visitor(email))
    text = _("If this address has an account to claim, a new link is on its way.")
    hint = _("No email after a few minutes? Check your spam folder, or correct the address.")
    return render_template("auth/sign_in/mail_sent.html", text=text, hint=hint, email=email)


@auth.errorhandler(magic_links.LinkInvalid)
def show_link_problem(error: magic_links.LinkInvalid) -> ResponseReturnValue:
    status = {"expired": 410, "used": 200}.get(error.reason, 404)
    return answer_privately(_link_problem(error.reason), status)


def _link_problem(reason: str, email: str = "", errors: Errors | None = None) -> str:
    return render_template("auth/link_problem.html", reason=reason, email=email, errors=errors)
