"""The account: address, password, API key, browsers that are signed in, and leaving."""

from collections.abc import Mapping

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event, record_project_event
from testimonials.auth.address_change.services import make_change_link
from testimonials.auth.display_names import DisplayNameForm, set_display_name
from testimonials.auth.emails import (
    send_email_change_mail,
    send_security_mail,
)
from testimonials.auth.limits import LINK_PER_EMAIL
from testimonials.auth.models import Account
from testimonials.auth.schemas import NewLinkForm
from testimonials.auth.services import delete_account, get_account, replace_key
from testimonials.auth.sign_in.cookies import (
    clear_session_cookie,
)
from testimonials.auth.sign_in.sessions import (
    SignedIn,
    lock_owner,
)
from testimonials.core import clock
from testimonials.core.data.identifiers import hash_secret
from testimonials.core.web.languages import find_language, gettext, use_language
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.response_headers import answer_privately
from testimonials.dashboard.account.activity_view import describe_activity, read_search
from testimonials.dashboard.describe import describe_modes, describe_plan
from testimonials.dashboard.forms import Errors
from testimonials.dashboard.guards import (
    build_shell,
    require_proof,
    require_session,
)
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.extensions import begin_write, db, let_others_write, limiter
from testimonials.media.quota import find_account_share
from testimonials.projects.access import Role, list_joined_projects, search_shared
from testimonials.projects.changes import give_up_projects
from testimonials.projects.limits import count_projects
from testimonials.projects.models import Project
from testimonials.projects.notifications.services import find_modes
from testimonials.projects.team.services import list_memberships
from testimonials.projects.team.workspace import list_workspaces
from testimonials.testimonials.moderation.parts import of_projects, remove_some

account = Blueprint("account", __name__)

HERE = "account.show_account"
# Of how many projects the page shows when they send mail.
LISTED = 10


@account.get("/dashboard/account")
@require_session
def show_account(owner: SignedIn) -> ResponseReturnValue:
    return answer_privately(_page(owner, notice=read_notice()))


@account.get("/dashboard/account/activity")
@require_session
def show_activity(owner: SignedIn) -> ResponseReturnValue:
    shown = describe_activity(read_search(owner.account_id, request.args))
    return render_template(
        "dashboard/account/activity.html",
        shell=build_shell(owner, "account"),
        **shown,
    )


@account.post("/dashboard/account/name")
@require_session
def change_name(owner: SignedIn) -> ResponseReturnValue:
    sent = DisplayNameForm().read(request.form)
    if sent.errors:
        page = _page(owner, errors=sent.errors, name_value=sent.typed["display_name"])
        return answer_privately(page, 422)
    begin_write()
    name = sent.values["display_name"]
    if set_display_name(lock_owner(owner), name):
        record_event(EventType.NAME_CHANGED, owner.account_id, name=name or "none")
    db.session.commit()
    return redirect(add_notice(url_for(HERE), _("Saved")), 303)


@account.post("/dashboard/account/language")
@require_session
def change_language(owner: SignedIn) -> ResponseReturnValue:
    """Keep the language of the person's pages; none means the browser's."""
    chosen = find_language(request.form.get("language", ""))
    begin_write()
    lock_owner(owner).language = chosen.code if chosen else None
    db.session.commit()
    use_language(chosen.code if chosen else None)
    return redirect(add_notice(url_for(HERE), gettext("Saved")), 303)


@account.post("/dashboard/account/email")
@require_session
@require_proof("change your address", HERE)
def ask_for_email_change(owner: SignedIn) -> ResponseReturnValue:
    """Mail a link to the new address; opening it changes the account."""
    sent = NewLinkForm().read(request.form)
    if sent.errors:
        page = _page(owner, errors=sent.errors, email_value=sent.typed["email"])
        return answer_privately(page, 422)
    email = sent.values["email"]
    limiter.count(LINK_PER_EMAIL, hash_secret(email))
    begin_write()
    send_email_change_mail(email, owner.email, make_change_link(lock_owner(owner), email))
    record_event(EventType.ADDRESS_REQUESTED, owner.account_id, email=email)
    db.session.commit()
    notice = _("Open the link in the mail to %(email)s to use it.", email=email)
    return redirect(add_notice(url_for(HERE), notice), 303)


@account.post("/dashboard/account/key")
@require_session
@require_proof("replace your API key", HERE)
def replace_key_here(owner: SignedIn) -> ResponseReturnValue:
    """Replace the API key and show the new one once."""
    begin_write()
    changed = lock_owner(owner)
    became = EventType.KEY_REPLACED if changed.has_key else EventType.KEY_ISSUED
    api_key = replace_key(changed)
    send_security_mail(owner.email, "The API key of your account was replaced.")
    record_event(became, owner.account_id)
    db.session.commit()
    return answer_privately(_page(owner, new_key=api_key))


@account.post("/dashboard/account/delete")
@require_session
@require_proof("delete your account", HERE)
def delete_here(owner: SignedIn) -> ResponseReturnValue:
    """Delete the account and everything in it permanently."""
    if request.form.get("confirm", "").strip().lower() != owner.email:
        errors = {"confirm": [_("Type %(email)s to delete this account.", email=owner.email)]}
        return answer_privately(_page(owner, errors=errors), 422)
    leaving = _lock_emptied(owner)
    for project in list_joined_projects(owner.account_id):
        record_project_event(EventType.MEMBER_LEFT, project)
    for workspace in list_workspaces(owner.account_id):
        record_event(EventType.MEMBER_LEFT, workspace.owner_id)
    delete_account(leaving)
    record_event(EventType.ACCOUNT_DELETED, None, account=owner.account_id)
    db.session.commit()
    response = redirect(url_for("claim.show_declined"), 303)
    clear_session_cookie(response)
    return response


def _lock_emptied(owner: SignedIn) -> Account:
    """Remove the account's testimonials in parts; return it locked, with the last part under way.

    Its projects are hidden first: if this is cut short, nobody sees half of one.
    """
    begin_write()
    leaving = lock_owner(owner)
    is_own = Project.account_id == owner.account_id
    give_up_projects(is_own)
    while remove_some(of_projects(is_own)):
        db.session.commit()
        let_others_write()
        begin_write()
        leaving = lock_owner(owner)
    return leaving


def _page(
    owner: SignedIn,
    *,
    notice: Mapping[str, str | None] | None = None,
    new_key: str | None = None,
    email_value: str = "",
    name_value: str | None = None,
    errors: Errors | None = None,
) -> str:
    found = get_account(owner.account_id)
    newest = search_shared(owner.account_id, "", 0, LISTED + 1)
    shared = list_memberships(owner.account_id, newest).items()
    # They get no mail of what is to be decided.
    read_only = {project_id for project_id, each in shared if each.role == Role.READER}
    told = [each for each in newest if each.id not in read_only]
    return render_template(
        "dashboard/account/account.html",
        shell=build_shell(owner, "account"),
        notice=notice,
        account=found,
        email_value=email_value,
        name_value=name_value,
        errors=errors or {},
        key_since=clock.day(found.key_created_at),
        new_key=new_key,
        limit=describe_plan(found),
        recordings=find_account_share(owner.account_id),
        projects=told[:LISTED],
        has_more_projects=len(newest) > LISTED,
        chosen=find_modes(owner.account_id, newest),
        modes=describe_modes(),
        own_count=count_projects(owner.account_id),
    )
