"""The pages of the account."""

import io
import json
from functools import partial
from typing import Any

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug import Response

from testimonials.auth import accounts, events
from testimonials.auth.cookies import clear_session_cookie, replace_session_cookie
from testimonials.auth.credentials import COMPANY_PER_ADDRESS, LINK_PER_EMAIL
from testimonials.auth.emails import send_email_change_mail, send_security_mail
from testimonials.auth.login import make_change_link
from testimonials.auth.models import Account
from testimonials.auth.oidc.accounts import AttemptPurpose
from testimonials.auth.oidc.pages import leave
from testimonials.auth.schemas import GoOnForm, NewLinkForm
from testimonials.auth.sessions import SignedIn, list_sessions, lock_owner, record_proof
from testimonials.auth.step_up import check_proof
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.db.identifiers import hash_secret
from testimonials.core.db.transactions import next_batch, write
from testimonials.core.extensions import db, limiter
from testimonials.core.http.blueprints import account
from testimonials.core.http.errors import ValidationFailed, require_found
from testimonials.core.http.fields import Text
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import (
    DASHBOARD_LANGUAGES,
    find_language,
    gettext,
    ngettext,
    use_language,
)
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.security import answer_privately
from testimonials.dashboard.exports import send_download
from testimonials.dashboard.formatting import describe_modes, describe_plan
from testimonials.dashboard.framework import (
    AccountPage,
    Done,
    Values,
    require_proof,
    require_session,
)
from testimonials.dashboard.security import describe_security
from testimonials.dashboard.shell import build_shell
from testimonials.projects.access import Role, list_joined_projects, search_shared
from testimonials.projects.events import MEMBER_LEFT
from testimonials.projects.models import Project
from testimonials.projects.notifications import find_modes
from testimonials.projects.projects import count_projects
from testimonials.projects.settings import hide_for_good
from testimonials.projects.team import list_colleagues, list_memberships, list_workspaces
from testimonials.testimonials.history import remove_some
from testimonials.testimonials.media.recordings import find_account_share
from testimonials.transfer.archives.writing import (
    finish_records,
    reading_snapshot,
    spool,
    write_account_archive,
)
from testimonials.transfer.privacy import describe_person

ACCOUNT = "dashboard.account.show_account"
DATA = "dashboard.account.show_data"
SIGNING_IN = "dashboard.account.show_security"
# How many projects the page about mail lists.
LISTED = 20

overview = AccountPage(account, "/dashboard/account", "account/account.html")


@overview.show
def show_account(owner: SignedIn) -> Values:
    security = describe_security(owner)
    return security | {
        "language": find_language(security["account"].language or ""),
        "devices": len(list_sessions(owner.account_id)),
        "mail": _describe_mail(_list_modes(owner)),
        "people": len(list_colleagues(owner.account_id)) + 1,
        "limit": describe_plan(security["account"]),
        "recordings": find_account_share(owner.account_id),
    }


def _list_modes(owner: SignedIn) -> list[tuple[Project, str]]:
    """Return the newest projects about which the person may get mail, each with its mode."""
    newest = search_shared(owner.account_id, "", 0, LISTED + 1)
    shared = list_memberships(owner.account_id, newest)
    modes = find_modes(owner.account_id, newest)
    # Readers get no mail, since they decide nothing.
    return [
        (project, modes[project.id])
        for project in newest
        if project.id not in shared or shared[project.id].role != Role.READER
    ]


def _describe_mail(listed: list[tuple[Project, str]]) -> str:
    modes = {mode for _project, mode in listed}
    if len(modes) != 1:
        return _("Set for each project") if modes else ""
    name = describe_modes()[modes.pop()][0]
    if len(listed) > LISTED:
        return name
    return ngettext(
        "%(mode)s, for %(num)s project", "%(mode)s, for %(num)s projects", len(listed), mode=name
    )


mail = AccountPage(account, "/dashboard/account/mail", "account/mail.html")


@mail.show
def show_mail(owner: SignedIn) -> Values:
    listed = _list_modes(owner)
    return {"listed": listed[:LISTED], "has_more": len(listed) > LISTED, "modes": describe_modes()}


name = AccountPage(account, "/dashboard/account/name", "account/name.html")


@name.show
def show_name(owner: SignedIn) -> Values:
    return {"typed": {"display_name": accounts.get_account(owner.account_id).display_name}}


@name.save(accounts.DisplayNameForm)
def change_name(owner: SignedIn, display_name: str | None) -> Done:
    if accounts.set_display_name(lock_owner(owner), display_name):
        record(events.NAME_CHANGED, owner.account_id, name=display_name or "none")
    return Done(_("Saved"), url_for(".show_account"))


email = AccountPage(account, "/dashboard/account/email", "account/email.html")


@email.show
def show_email(owner: SignedIn) -> Values:
    return {"typed": {"email": ""}}


@email.save(
    NewLinkForm,
    step_up="Change address",
    prepare=lambda owner, email: limiter.count(LINK_PER_EMAIL, hash_secret(email)),
)
def ask_for_email_change(owner: SignedIn, email: str, **rest: Any) -> Done:
    """Email a link to the new address, which changes the account when opened."""
    if email == owner.email:
        raise ValidationFailed.of({"email": [_("This is already your address.")]})
    send_email_change_mail(email, owner.email, make_change_link(lock_owner(owner), email))
    record(events.ADDRESS_REQUESTED, owner.account_id, email=email)
    text = _("Open the link in the email to %(email)s.", email=email)
    return Done(text, url_for(".show_account"))


language = AccountPage(account, "/dashboard/account/language", "account/language.html")


@language.show
def show_language(owner: SignedIn) -> Values:
    return {
        "choices": DASHBOARD_LANGUAGES,
        "chosen": accounts.get_account(owner.account_id).language or "",
    }


@language.save({"language": Text(35, load_default="")})
def change_language(owner: SignedIn, language: str) -> Done:
    """Set the language of the person's pages; without one, they are in the browser's."""
    chosen = find_language(language)
    lock_owner(owner).language = chosen.code if chosen else None
    use_language(chosen.code if chosen else None)
    return Done(gettext("Saved"))


key = AccountPage(account, "/dashboard/account/key", "account/key.html")


@key.show
def show_key(owner: SignedIn) -> Values:
    row = accounts.get_account(owner.account_id)
    return {"account": row, "key_since": clock.day(row.key_created_at), "new_key": None}


@key.save(step_up="Replace key")
def replace_key_here(owner: SignedIn) -> Done:
    row = lock_owner(owner)
    event = events.KEY_REPLACED if row.has_key else events.KEY_ISSUED
    new_key = accounts.replace_key(row)
    send_security_mail(owner.email, "The API key of your account was replaced.")
    record(event, owner.account_id)
    return Done(page=key, shown={"new_key": new_key})


projects = AccountPage(account, "/dashboard/account/projects", "account/projects.html")


@projects.show
def show_storage(owner: SignedIn) -> Values:
    return {
        "limit": describe_plan(accounts.get_account(owner.account_id)),
        "recordings": find_account_share(owner.account_id),
    }


data = AccountPage(account, "/dashboard/account/data", "account/data.html")


@data.show
def show_data(owner: SignedIn) -> Values:
    return {}


# POST although nothing changes, so that other websites can't start one.
@account.post("/dashboard/account/export")
@require_session
@require_proof("Your data", DATA, is_download=True)
def export_everything(owner: SignedIn) -> ResponseReturnValue:
    finish_records(Project.account_id == owner.account_id)
    with reading_snapshot():
        row = require_found(db.session.get(Account, owner.account_id))
        file = spool(partial(write_account_archive, row))
    with write():
        record(events.ACCOUNT_EXPORTED, owner.account_id)
    return send_download(file, "testimonials-account", "zip", "application/zip")


@account.post("/dashboard/account/person")
@require_session
@require_proof("Your data", DATA, is_download=True)
def export_person(owner: SignedIn) -> ResponseReturnValue:
    """Send what is stored about the account's address, in projects of others too."""
    with reading_snapshot():
        text = json.dumps(describe_person(owner.email), ensure_ascii=False, indent=1)
    with write():
        record(events.ACCOUNT_EXPORTED, owner.account_id)
    file = io.BytesIO(text.encode())
    return send_download(file, "testimonials-person", "json", "application/json")


leaving = AccountPage(account, "/dashboard/account/delete", "account/delete.html")


@leaving.show
def show_deletion(owner: SignedIn) -> Values:
    return {"own_count": count_projects(owner.account_id), "typed": {"confirm": ""}}


@leaving.save({"confirm": Text(254, load_default="")}, step_up="Delete account")
def delete_here(owner: SignedIn, confirm: str) -> Done:
    if confirm.strip().lower() != owner.email:
        wanted = _("Type %(slug)s to confirm.", slug=owner.email)
        raise ValidationFailed.of({"confirm": [wanted]})
    _empty(owner)
    for project in list_joined_projects(owner.account_id):
        record(MEMBER_LEFT, project)
    for workspace in list_workspaces(owner.account_id):
        record(MEMBER_LEFT, workspace.owner_id)
    accounts.delete_account(lock_owner(owner))
    record(events.ACCOUNT_DELETED, None, account=owner.account_id)
    return Done(to=url_for("auth.show_declined"), finish=clear_session_cookie)


def _empty(owner: SignedIn) -> None:
    """Remove the account's testimonials in batches; the caller commits the last one.

    The projects are hidden first, so that nobody sees half of one.
    """
    lock_owner(owner)
    is_own = Project.account_id == owner.account_id
    hide_for_good(is_own)
    while remove_some(is_own):
        next_batch()
        lock_owner(owner)


# Linking the company account, and confirming somebody's identity with it.


@account.post("/dashboard/account/company/link")
@limiter.per_address(COMPANY_PER_ADDRESS)
@require_session
@require_proof("Company account", SIGNING_IN, changes_ways_in=True)
def link_company(owner: SignedIn) -> ResponseReturnValue:
    """Redirect to the company's sign-in, after which the accounts are linked."""
    return leave(AttemptPurpose.LINK, owner, target=url_for(SIGNING_IN))


@account.post("/dashboard/account/company/prove")
@limiter.per_address(COMPANY_PER_ADDRESS)
@require_session
def prove_by_company(owner: SignedIn) -> ResponseReturnValue:
    """Redirect to the company's sign-in for a proof, after which the kept form is sent again."""
    sent = GoOnForm().read().values
    target = sent["next"] or url_for(SIGNING_IN)
    return leave(AttemptPurpose.PROVE, owner, target=target, draft=sent["draft"])


class MailedProofForm(FormSchema):
    proof = Text(1000, load_default="")


@account.get("/dashboard/account/company/mailed")
@require_session
def show_mailed_proof(owner: SignedIn) -> ResponseReturnValue:
    """Show a button behind the link in an email, since mail scanners open links too."""
    token = request.args.get("proof", "")
    if not token:
        return redirect(url_for(SIGNING_IN), 303)
    check_proof(owner, token)
    return _mailed_page(owner, token)


@account.post("/dashboard/account/company/mailed")
@require_session
def take_mailed_proof(owner: SignedIn) -> ResponseReturnValue:
    check_proof(owner, MailedProofForm().read().values.get("proof", ""))
    with write():
        _account, cookie = record_proof(owner)
    replace_session_cookie(cookie)
    return _mailed_page(owner, "")


def _mailed_page(owner: SignedIn, token: str) -> Response:
    page, shell = "dashboard/account/mailed_proof.html", build_shell(owner, "account")
    return answer_privately(render_template(page, shell=shell, token=token))
