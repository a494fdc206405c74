"""Commands about accounts and access tokens."""

from collections.abc import Callable
from typing import Any

import click

from testimonials.auth.accounts import (
    delete_account,
    get_account,
    list_accounts,
    replace_key,
    start_account,
)
from testimonials.auth.billing import set_plan
from testimonials.auth.credentials import make_reset_link
from testimonials.auth.email_addresses import normalize_email
from testimonials.auth.emails import send_claim_mail, send_security_mail
from testimonials.auth.events import (
    ACCOUNT_DELETED,
    ACCOUNT_LIMITED,
    COMPANY_UNLINKED,
    KEY_ISSUED,
    KEY_REPLACED,
    PLAN_CHANGED,
    SESSION_ENDED,
    SIGN_IN_RESET,
)
from testimonials.auth.magic_links import make_claim_link
from testimonials.auth.models import AccessToken, Account
from testimonials.auth.oidc.accounts import unlink_account
from testimonials.auth.scopes import DEFAULT_SCOPES, Scope
from testimonials.auth.sessions import end_sessions, list_sessions
from testimonials.auth.step_up import find_ways_in, reset_ways_in
from testimonials.auth.tokens import (
    DEFAULT_DAYS,
    count_tokens,
    find_last_use,
    get_token,
    list_tokens,
    make_token,
    revoke_token,
)
from testimonials.cli.output import (
    Command,
    database_command,
    json_option,
    print_json,
    print_record,
    print_rows,
)
from testimonials.core.audit import record
from testimonials.core.clock import iso
from testimonials.core.extensions import begin_write, db, let_others_write
from testimonials.projects.models import Project
from testimonials.projects.projects import count_projects, get_project, project_limit_of
from testimonials.projects.settings import give_up_projects, restore_account, suspend_account
from testimonials.testimonials.batches import of_projects, remove_some
from testimonials.testimonials.media.recordings import find_account_share
from testimonials.testimonials.testimonials import summarize_projects

# `testimonials accounts`.


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
def list_accounts_command(largest: bool, as_json: bool) -> None:
    """List the accounts, newest first."""
    rows = [_describe_account(account) for account in list_accounts()]
    if largest:
        rows.sort(key=lambda row: row["recordingBytes"], reverse=True)
    print_rows(rows, as_json=as_json, empty="There are no accounts yet.")


@accounts.command("create")
@click.argument("email")
@click.option("--no-mail", is_flag=True, help="Send no mail; print the claim link only.")
@json_option
@database_command
def create_account_command(email: str, no_mail: bool, as_json: bool) -> None:
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
    record(KEY_ISSUED, access.account.id)
    db.session.commit()
    shown = {
        "accountId": access.account.id,
        "email": address,
        "apiKey": access.api_key,
        "claimLink": link,
        "claimExpiresAt": iso(access.account.claim_expires_at),
    }
    print_record(shown, as_json=as_json)


@account_command("show")
def show_command(account: str, as_json: bool) -> None:
    """Show one account."""
    print_record(_describe_account(get_account(account)), as_json=as_json)


@account_command("set-limit")
@click.argument("limit")
def set_limit_command(account: str, limit: str, as_json: bool) -> None:
    """Set how many projects an account may have: a number, or `default` for the setting."""
    if limit != "default" and not (limit.isascii() and limit.isdigit() and int(limit) <= 1_000_000):
        raise click.ClickException("LIMIT must be a whole number from 0 to 1000000, or default.")
    begin_write()
    found = get_account(account)
    found.project_limit = None if limit == "default" else int(limit)
    record(ACCOUNT_LIMITED, found.id, limit=limit)
    db.session.commit()
    print_record(_describe_account(found), as_json=as_json)


@account_command("set-plan")
@click.argument("plan", metavar="NAME")
def set_plan_command(account: str, plan: str, as_json: bool) -> None:
    """Put an account on a plan from the settings, or on `none`.

    The payment provider's next event about a subscription of this account replaces it.
    """
    begin_write()
    found = get_account(account)
    set_plan(found, None if plan.lower() == "none" else plan)
    record(PLAN_CHANGED, found.id, plan=found.plan or "none")
    db.session.commit()
    print_record(_describe_account(found), as_json=as_json)


@account_command("rotate-key")
def rotate_key_command(account: str, as_json: bool) -> None:
    """Replace an account's API key and print the new one; the old one stops working."""
    begin_write()
    found = get_account(account)
    api_key = replace_key(found)
    record(KEY_REPLACED, found.id)
    db.session.commit()
    shown = {"accountId": found.id, "email": found.email, "apiKey": api_key}
    print_record(shown, as_json=as_json)


@account_command("sign-out")
def sign_out_command(account: str, as_json: bool) -> None:
    """Sign an account out of every browser; the password and the API key stay.

    The limits on wrong passwords then treat each of those browsers as a stranger's.
    """
    begin_write()
    found = get_account(account)
    count = len(list_sessions(found.id))
    end_sessions(found.id)
    record(SESSION_ENDED, found.id, which="every browser")
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
    record(SIGN_IN_RESET, found.id)
    db.session.commit()
    shown = {"accountId": found.id, "email": found.email, "resetLink": make_reset_link(found)}
    print_record(shown, as_json=as_json)


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
    record(ACCOUNT_DELETED, None, account=found.id)
    db.session.commit()
    if as_json:
        print_json({"accountId": found.id, "deleted": True, "projects": count})
    else:
        click.echo(f"Deleted {found.email} and {count} project(s).")


def _describe_account(account: Account) -> dict[str, Any]:
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


# The command about company accounts.


@click.command("unlink-company")
@click.argument("account", metavar="ID_OR_EMAIL")
@json_option
@database_command
def unlink_company(account: str, as_json: bool) -> None:
    """Unlink an account from the company's, and sign it out of every browser.

    Whoever signs in with the company's account and the same verified address next is linked.
    """
    begin_write()
    found = get_account(account)
    who = unlink_account(found)
    if who is not None:
        end_sessions(found.id)
        record(COMPANY_UNLINKED, found.id, who=who)
    db.session.commit()
    shown = {"accountId": found.id, "email": found.email, "unlinked": who}
    print_record(shown, as_json=as_json)


# `testimonials tokens`.


@click.group()
def tokens() -> None:
    """List, make and revoke access tokens."""


@tokens.command("list")
@click.option("--account", metavar="ID_OR_EMAIL", help="Only the tokens of this account.")
@json_option
@database_command
def list_tokens_command(account: str | None, as_json: bool) -> None:
    """List access tokens, newest first; `unused` are those that nobody used for 90 days."""
    account_id = get_account(account).id if account else None
    rows = [
        _describe_token(each.token) | {"madeBy": each.made_by} for each in list_tokens(account_id)
    ]
    print_rows(rows, as_json=as_json, empty="There are no access tokens.")


@tokens.command("create")
@click.option("--account", metavar="ID_OR_EMAIL", required=True, help="The owner.")
@click.option("--name", required=True, help="What the owner recognises it by.")
@click.option(
    "--scopes",
    default=",".join(DEFAULT_SCOPES),
    show_default=True,
    help=f"Of {', '.join(Scope)}, with commas between.",
)
@click.option("--project", metavar="ID_OR_SLUG", help="The only project it reaches.")
@click.option(
    "--days",
    default=DEFAULT_DAYS,
    type=click.IntRange(0, 3650),
    show_default=True,
    help="How long it works; 0 is for good.",
)
@json_option
@database_command
def create_token_command(
    account: str, name: str, scopes: str, project: str | None, days: int, as_json: bool
) -> None:
    """Make an access token for a claimed account, and print it, which is done only once."""
    wanted = _read_scopes(scopes)
    if not 0 < len(name.strip()) <= 80 or not name.isprintable():
        raise click.ClickException("NAME must be one line of 1 to 80 characters.")
    begin_write()
    owner = get_account(account)
    if not owner.is_claimed:
        raise click.ClickException("Nobody has claimed this account, so it has no tokens.")
    only = get_project(project) if project else None
    if only is not None and only.account_id != owner.id:
        raise click.ClickException(f"The project {project} is not one of {owner.email}.")
    token, plain = make_token(
        owner.id, only.id if only else None, name.strip(), wanted, days or None, owner.id
    )
    db.session.commit()
    print_record(_describe_token(token) | {"token": plain}, as_json=as_json)


@tokens.command("revoke")
@click.argument("token_id", metavar="ID")
@json_option
@database_command
def revoke_command(token_id: str, as_json: bool) -> None:
    """Revoke an access token: the next call with it is refused."""
    begin_write()
    token = get_token(token_id)
    revoke_token(token)
    db.session.commit()
    print_record(_describe_token(token), as_json=as_json)


def _read_scopes(text: str) -> list[Scope]:
    names = [each.strip() for each in text.split(",")]
    if unknown := [each for each in names if each not in [*Scope]]:
        raise click.ClickException(
            f"There is no scope {unknown[0] or '(empty)'}. The scopes are: {', '.join(Scope)}."
        )
    return [Scope(each) for each in names]


def _describe_token(token: AccessToken) -> dict[str, Any]:
    use = find_last_use(token)
    return {
        "tokenId": token.id,
        "accountId": token.account_id,
        "projectId": token.project_id,
        "name": token.name,
        "scopes": token.scopes,
        "state": token.state,
        "lastFour": token.last_four,
        "lastUsedAt": use and iso(use.at),
        "lastUsedFor": use and use.operation,
        "lastUsedBy": use and use.by,
        "createdAt": iso(token.created_at),
        "expiresAt": token.expires_at and iso(token.expires_at),
    }


# `testimonials accounts suspend` and `restore`.


@click.command("suspend")
@click.argument("account", metavar="ID_OR_EMAIL")
@click.option("--reason", required=True, help="Why; it is mailed to the owner.")
@click.option("--hide-widgets", is_flag=True, help="Empty the widgets and walls too, as for spam.")
@json_option
@database_command
def suspend(account: str, reason: str, hide_widgets: bool, as_json: bool) -> None:
    """Suspend an account: nobody signs in, keys are refused, and its pages take nothing.

    Nothing is deleted, and the widgets stay unless --hide-widgets is given.
    """
    begin_write()
    found = suspend_account(account, reason, hides_widgets=hide_widgets)
    db.session.commit()
    _print(found, as_json)


@click.command("restore")
@click.argument("account", metavar="ID_OR_EMAIL")
@json_option
@database_command
def restore(account: str, as_json: bool) -> None:
    """End the suspension of an account, and tell its owner."""
    begin_write()
    found = restore_account(account)
    db.session.commit()
    _print(found, as_json)


def _print(account: Account, as_json: bool) -> None:
    shown = {
        "accountId": account.id,
        "email": account.email,
        "suspendedAt": iso(account.suspended_at) if account.suspended_at else None,
        "reason": account.suspended_reason,
        "hidesWidgets": account.hides_widgets,
    }
    print_record(shown, as_json=as_json)
