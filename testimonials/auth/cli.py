"""`testimonials accounts`."""

from collections.abc import Callable
from typing import Any

import click

from testimonials.access.tokens import count_tokens
from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event
from testimonials.auth.addresses import normalize_email
from testimonials.auth.billing.services import set_plan
from testimonials.auth.emails import send_claim_mail, send_security_mail
from testimonials.auth.links import make_claim_link
from testimonials.auth.models import Account
from testimonials.auth.proofs.ways_in import find_ways_in, reset_ways_in
from testimonials.auth.services import (
    delete_account,
    get_account,
    list_accounts,
    replace_key,
    start_account,
)
from testimonials.auth.sign_in.services import make_reset_link
from testimonials.auth.sign_in.sessions import end_sessions, list_sessions
from testimonials.core.clock import iso
from testimonials.core.commands import (
    Command,
    database_command,
    json_option,
    print_json,
    print_record,
    print_rows,
)
from testimonials.extensions import begin_write, db, let_others_write
from testimonials.media.quota import find_account_share
from testimonials.projects.changes import give_up_projects
from testimonials.projects.limits import count_projects, project_limit_of
from testimonials.projects.models import Project
from testimonials.testimonials.moderation.parts import of_projects, remove_some
from testimonials.testimonials.services import summarize_projects


@click.group()
def accounts() -> None:
    """List, create and change accounts."""


def account_command(name: str) -> Callable[[Command], click.Command]:
    """Declare a command that takes an account as its first argument, and ``--json``."""

    def declare(command: Command) -> click.Command:
        account = click.argument("account", metavar="ID_OR_EMAIL")
        return accounts.command(name)(account(json_option(database_command(command))))

    return declare


@accounts.command("list")
@click.option("--largest", is_flag=True, help="Those whose recordings take most first.")
@json_option
@database_command
def list_command(largest: bool, as_json: bool) -> None:
    """List the accounts, newest first."""
    rows = [_describe(account) for account in list_accounts()]
    if largest:
        rows.sort(key=lambda row: row["recordingBytes"], reverse=True)
    print_rows(rows, as_json=as_json, empty="There are no accounts yet.")


@accounts.command("create")
@click.argument("email")
@click.option("--no-mail", is_flag=True, help="Send no mail; print the claim link only.")
@json_option
@database_command
def create_command(email: str, no_mail: bool, as_json: bool) -> None:
    """Start an account for EMAIL, whatever the sign-up setting, and print its new key.

    If the account exists but is unclaimed, its key and link are replaced, as by agent-init.
    """
    address = normalize_email(email)
    begin_write()
    access = start_account(address)
    if access is None:
        raise click.ClickException(f"The account of {address} exists and is claimed.")
    link = make_claim_link(access.account, access.claim_nonce)
    if not no_mail:
        projects = summarize_projects(access.account.id)
        send_claim_mail(access.account, link, projects, is_resend=True, issued_to="the operator")
    record_event(EventType.KEY_ISSUED, access.account.id)
    db.session.commit()
    record = {
        "accountId": access.account.id,
        "email": address,
        "apiKey": access.api_key,
        "claimLink": link,
        "claimExpiresAt": iso(access.account.claim_expires_at),
    }
    print_record(record, as_json=as_json)


@account_command("show")
def show_command(account: str, as_json: bool) -> None:
    """Show one account."""
    print_record(_describe(get_account(account)), as_json=as_json)


@account_command("set-limit")
@click.argument("limit")
def set_limit_command(account: str, limit: str, as_json: bool) -> None:
    """Set how many projects an account may have: a number, or `default` for the setting."""
    if limit != "default" and not (limit.isascii() and limit.isdigit() and int(limit) <= 1_000_000):
        raise click.ClickException("LIMIT must be a whole number from 0 to 1000000, or default.")
    begin_write()
    found = get_account(account)
    found.project_limit = None if limit == "default" else int(limit)
    record_event(EventType.ACCOUNT_LIMITED, found.id, limit=limit)
    db.session.commit()
    print_record(_describe(found), as_json=as_json)


@account_command("set-plan")
@click.argument("plan", metavar="NAME")
def set_plan_command(account: str, plan: str, as_json: bool) -> None:
    """Put an account on a plan from the settings, or on `none`.

    The payment provider's next event about a subscription of this account replaces it.
    """
    begin_write()
    found = get_account(account)
    set_plan(found, None if plan.lower() == "none" else plan)
    record_event(EventType.PLAN_CHANGED, found.id, plan=found.plan or "none")
    db.session.commit()
    print_record(_describe(found), as_json=as_json)


@account_command("rotate-key")
def rotate_key_command(account: str, as_json: bool) -> None:
    """Replace an account's API key and print the new one; the old one stops working."""
    begin_write()
    found = get_account(account)
    api_key = replace_key(found)
    record_event(EventType.KEY_REPLACED, found.id)
    db.session.commit()
    record = {"accountId": found.id, "email": found.email, "apiKey": api_key}
    print_record(record, as_json=as_json)


@account_command("sign-out")
def sign_out_command(account: str, as_json: bool) -> None:
    """Sign an account out of every browser; the password and the API key stay.

    The limits on wrong passwords then treat each of those browsers as a stranger's.
    """
    begin_write()
    found = get_account(account)
    count = len(list_sessions(found.id))
    end_sessions(found.id)
    record_event(EventType.SESSION_ENDED, found.id, which="every browser")
    db.session.commit()
    if as_json:
        print_json({"accountId": found.id, "email": found.email, "signedOut": count})
    else:
        click.echo(f"Signed {found.email} out of {count} browser(s).")


@account_command("reset-sign-in")
def reset_sign_in_command(account: str, as_json: bool) -> None:
    """Let somebody in who lost phone, passkeys and recovery codes, and print a link.

    Passkeys, the authenticator app and its codes are removed and every browser is signed out; a
    mail says so. The link works for an hour and once: it sets a password. Be sure who asks.
    """
    begin_write()
    found = get_account(account)
    if not found.is_claimed:
        raise click.ClickException(f"The account of {found.email} is not claimed yet.")
    reset_ways_in(found)
    send_security_mail(
        found.email,
        "The operator removed the passkeys and the authenticator app of your account, and signed "
        "every browser out. Choose a password to get in.",
    )
    record_event(EventType.SIGN_IN_RESET, found.id)
    db.session.commit()
    record = {"accountId": found.id, "email": found.email, "resetLink": make_reset_link(found)}
    print_record(record, as_json=as_json)


@account_command("delete")
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
def delete_command(account: str, yes: bool, as_json: bool) -> None:
    """Delete an account with its projects and testimonials."""
    found = get_account(account)
    count = count_projects(found.id)
    if not yes:
        question = f"Delete {found.email} and {count} project(s) for good?"
        click.confirm(question, abort=True, err=as_json)
    begin_write()
    give_up_projects(Project.account_id == found.id)
    while remove_some(of_projects(Project.account_id == found.id)):
        db.session.commit()
        let_others_write()
        begin_write()
    found = get_account(account)
    delete_account(found)
    record_event(EventType.ACCOUNT_DELETED, None, account=found.id)
    db.session.commit()
    if as_json:
        print_json({"accountId": found.id, "deleted": True, "projects": count})
    else:
        click.echo(f"Deleted {found.email} and {count} project(s).")


def _describe(account: Account) -> dict[str, Any]:
    return {
        "accountId": account.id,
        "email": account.email,
        "displayName": account.display_name,
        "claimed": account.is_claimed,
        "claimExpiresAt": None if account.is_claimed else iso(account.claim_expires_at),
        "keyLastFour": account.key_last_four,
        "keyCreatedAt": iso(account.key_created_at),
        "projects": count_projects(account.id),
        "tokens": count_tokens(account.id),
        "recordingBytes": find_account_share(account.id).bytes,
        "suspendedAt": iso(account.suspended_at) if account.suspended_at else None,
        **_describe_ways_in(account),
        "plan": account.plan,
        "projectLimit": project_limit_of(account),
        "createdAt": iso(account.created_at),
    }


def _describe_ways_in(account: Account) -> dict[str, Any]:
    ways = find_ways_in(account)
    return {
        "password": ways.has_password,
        "passkeys": ways.passkeys,
        "authenticatorApp": ways.app is not None,
        "requiresStrong": account.requires_strong,
    }
