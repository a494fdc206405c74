"""Commands about accounts and access tokens."""

from pathlib import Path
from typing import Any

import click
from sqlalchemy import ColumnElement, ScalarSelect, func, select

from testimonials.auth import events
from testimonials.auth.accounts import (
    delete_account,
    get_account,
    is_live,
    replace_key,
    start_account,
)
from testimonials.auth.billing import set_plan
from testimonials.auth.credentials import make_reset_link
from testimonials.auth.email_addresses import normalize_email
from testimonials.auth.emails import send_claim_mail, send_security_mail
from testimonials.auth.magic_links import make_claim_link
from testimonials.auth.models import AccessToken, Account, AuthenticatorApp, Passkey
from testimonials.auth.oidc.accounts import unlink_account
from testimonials.auth.sessions import end_sessions, list_sessions
from testimonials.auth.step_up import reset_ways_in
from testimonials.auth.tokens import (
    DEFAULT_DAYS,
    DEFAULT_SCOPES,
    Scope,
    find_last_use,
    get_token,
    list_tokens,
    make_token,
    revoke_token,
)
from testimonials.cli.output import (
    ACCOUNT,
    FILE,
    FORCE,
    PROJECT,
    YES,
    Group,
    Output,
    Record,
    Rows,
    confirm,
    report_written,
    writing_file,
)
from testimonials.core.audit import record
from testimonials.core.clock import iso
from testimonials.core.db.transactions import next_batch, write
from testimonials.core.extensions import db
from testimonials.operations.database import require_service_secret
from testimonials.projects.models import Project
from testimonials.projects.projects import count_projects, project_limit_of
from testimonials.projects.settings import hide_for_good, restore_account, suspend_account
from testimonials.testimonials.history import remove_some
from testimonials.testimonials.media.recordings import TAKEN
from testimonials.transfer.archives.writing import (
    finish_records,
    reading_snapshot,
    write_account_archive,
)


@click.group(cls=Group)
def accounts() -> None:
    """List, create and change accounts."""


@accounts.command("list", empty="There are no accounts yet.")
@click.option("--largest", is_flag=True, help="Sort by the size of their recordings instead.")
def list_accounts_command(largest: bool) -> Rows:
    """List the accounts, newest first."""
    rows = _describe(is_live())
    if largest:
        rows.sort(key=lambda row: row["recordingBytes"], reverse=True)
    return rows


@accounts.command("create", writes=True)
@click.argument("email")
@click.option("--no-mail", is_flag=True, help="Send no mail; print the claim link only.")
def create_account_command(email: str, no_mail: bool) -> Record:
    """Start an account for EMAIL, even if sign-up is closed, and print its new key.

    If the account exists but is unclaimed, its key and link are replaced, as with agent-init.
    """
    require_service_secret()
    address = normalize_email(email)
    access = start_account(address)
    if access is None:
        raise click.ClickException(f"The account of {address} exists and is claimed.")
    link = make_claim_link(access.account, access.claim_nonce)
    if not no_mail:
        send_claim_mail(access.account, link, is_resend=True, issued_to="the operator")
    record(events.KEY_ISSUED, access.account.id)
    return {
        "accountId": access.account.id,
        "email": address,
        "apiKey": access.api_key,
        "claimLink": link,
        "claimExpiresAt": iso(access.account.claim_expires_at),
    }


@accounts.command("show")
@click.argument("account", type=ACCOUNT)
def show_command(account: Account) -> Record:
    """Show an account."""
    return _describe(Account.id == account.id)[0]


@accounts.command("set-limit", writes=True)
@click.argument("account", type=ACCOUNT)
@click.argument("limit")
def set_limit_command(account: Account, limit: str) -> Record:
    """Set how many projects an account may have: a number, or `default` for the setting."""
    if limit != "default" and not (limit.isascii() and limit.isdigit() and int(limit) <= 1_000_000):
        raise click.ClickException("LIMIT must be a whole number from 0 to 1000000, or default.")
    account.project_limit = None if limit == "default" else int(limit)
    record(events.ACCOUNT_LIMITED, account.id, limit=limit)
    return _describe(Account.id == account.id)[0]


@accounts.command("set-plan", writes=True)
@click.argument("account", type=ACCOUNT)
@click.argument("plan", metavar="NAME")
def set_plan_command(account: Account, plan: str) -> Record:
    """Set an account's plan to one from the settings, or to `none`.

    The next event from Stripe about a subscription of this account overrides it.
    """
    set_plan(account, None if plan.lower() == "none" else plan)
    record(events.PLAN_CHANGED, account.id, plan=account.plan or "none")
    return _describe(Account.id == account.id)[0]


@accounts.command("rotate-key", writes=True)
@click.argument("account", type=ACCOUNT)
def rotate_key_command(account: Account) -> Record:
    """Replace an account's API key, and print the new one."""
    api_key = replace_key(account)
    record(events.KEY_REPLACED, account.id)
    return {"accountId": account.id, "email": account.email, "apiKey": api_key}


@accounts.command("sign-out", writes=True)
@click.argument("account", type=ACCOUNT)
def sign_out_command(account: Account) -> Output:
    """Sign an account out of all browsers; the password and the API key stay.

    Those browsers then count as unknown for the limits on wrong passwords.
    """
    count = len(list_sessions(account.id))
    end_sessions(account.id)
    record(events.SESSION_ENDED, account.id, which="every browser")
    return Output(
        {"accountId": account.id, "email": account.email, "signedOut": count},
        f"Signed {account.email} out of {count} browser(s).",
    )


@accounts.command("reset-sign-in", writes=True)
@click.argument("account", type=ACCOUNT)
def reset_sign_in_command(account: Account) -> Record:
    """Let in somebody who has lost their phone, passkeys and recovery codes, and print a link.

    This removes the passkeys, the authenticator app and its codes, signs all browsers out, and
    notifies the owner. The link sets a password, once and within an hour. Make sure that you know
    who is asking.
    """
    require_service_secret()
    if not account.is_claimed:
        raise click.ClickException(f"The account of {account.email} is not claimed yet.")
    reset_ways_in(account)
    send_security_mail(
        account.email,
        "The operator removed the passkeys and the authenticator app of your account, and signed "
        "every browser out. Choose a password to sign in.",
    )
    record(events.SIGN_IN_RESET, account.id)
    return {"accountId": account.id, "email": account.email, "resetLink": make_reset_link(account)}


@accounts.command("delete")
@click.argument("account", type=ACCOUNT)
@YES
def delete_command(account: Account, yes: bool) -> Output:
    """Delete an account with its projects and testimonials."""
    count = count_projects(account.id)
    confirm(f"Delete {account.email} and {count} project(s) for good?", yes=yes)
    with write(lambda: get_account(account.id)) as locked:
        hide_for_good(Project.account_id == locked.id)
        while remove_some(Project.account_id == locked.id):
            next_batch()
        delete_account(locked)
        record(events.ACCOUNT_DELETED, None, account=account.id)
    return Output(
        {"accountId": account.id, "deleted": True, "projects": count},
        f"Deleted {account.email} and {count} project(s).",
    )


def _describe(which: ColumnElement[bool]) -> Rows:
    """Describe accounts, newest first, by one statement for all."""

    def count(model: Any, *conditions: ColumnElement[bool]) -> ScalarSelect[int]:
        query = select(func.count()).where(model.account_id == Account.id, *conditions)
        return query.select_from(model).scalar_subquery()

    size = TAKEN.join(Project).where(Project.account_id == Account.id)
    query = select(
        Account,
        count(Project, Project.deleted_at.is_(None)),
        count(AccessToken, AccessToken.is_valid()),
        size.with_only_columns(TAKEN.selected_columns[1]).scalar_subquery(),
        count(Passkey),
        count(AuthenticatorApp),
    )
    query = query.where(which).order_by(Account.created_at.desc(), Account.id.desc())
    return [_describe_account(*row) for row in db.session.execute(query)]


def _describe_account(
    account: Account, projects: int, tokens: int, size: int, passkeys: int, apps: int
) -> Record:
    return {
        "accountId": account.id,
        "email": account.email,
        "displayName": account.display_name,
        "claimed": account.is_claimed,
        "claimExpiresAt": None if account.is_claimed else iso(account.claim_expires_at),
        "keyLastFour": account.key_last_four,
        "keyCreatedAt": iso(account.key_created_at),
        "projects": projects,
        "tokens": tokens,
        "recordingBytes": size,
        "suspendedAt": iso(account.suspended_at) if account.suspended_at else None,
        "password": account.has_password,
        "passkeys": passkeys,
        "authenticatorApp": apps == 1,
        "requiresStrong": account.requires_strong,
        "plan": account.plan,
        "projectLimit": project_limit_of(account),
        "createdAt": iso(account.created_at),
    }


@accounts.command("unlink-company", writes=True)
@click.argument("account", type=ACCOUNT)
def unlink_company(account: Account) -> Record:
    """Unlink an account from single sign-on, and sign it out of all browsers.

    The next sign-in through the provider with the same verified address links it again.
    """
    who = unlink_account(account)
    if who is not None:
        end_sessions(account.id)
        record(events.COMPANY_UNLINKED, account.id, who=who)
    return {"accountId": account.id, "email": account.email, "unlinked": who}


@accounts.command("suspend", writes=True)
@click.argument("account", metavar="ID_OR_EMAIL")
@click.option("--reason", required=True, help="Emailed to the owner.")
@click.option("--hide-widgets", is_flag=True, help="Empty the widgets and walls too.")
def suspend(account: str, reason: str, hide_widgets: bool) -> Record:
    """Suspend an account: signing in, API calls and its forms are refused.

    Nothing is deleted, and the widgets stay unless --hide-widgets is given.
    """
    return _describe_suspension(suspend_account(account, reason, hides_widgets=hide_widgets))


@accounts.command("restore", writes=True)
@click.argument("account", metavar="ID_OR_EMAIL")
def restore(account: str) -> Record:
    """End the suspension of an account, and notify its owner."""
    return _describe_suspension(restore_account(account))


def _describe_suspension(account: Account) -> Record:
    return {
        "accountId": account.id,
        "email": account.email,
        "suspendedAt": iso(account.suspended_at) if account.suspended_at else None,
        "reason": account.suspended_reason,
        "hidesWidgets": account.hides_widgets,
    }


@accounts.command("export")
@click.argument("account", metavar="ID_OR_EMAIL")
@FILE
@FORCE
def export_account(account: str, file: Path, force: bool) -> Output:
    """Export an account to FILE, a zip, without its secrets.

    The zip contains the account's data, sessions, memberships and activity, and an archive of each
    project for `projects import`.
    """
    account_id = get_account(account).id
    finish_records(Project.account_id == account_id)
    with writing_file(file, is_forced=force) as out, reading_snapshot():
        write_account_archive(db.session.get_one(Account, account_id), out)
    with write():
        record(events.ACCOUNT_EXPORTED, account_id)
    return report_written(account, file)


@click.group(cls=Group)
def tokens() -> None:
    """List, create and revoke access tokens."""


@tokens.command("list", empty="There are no access tokens.")
@click.option("--account", type=ACCOUNT, help="Only the tokens of this account.")
def list_tokens_command(account: Account | None) -> Rows:
    """List access tokens, newest first; `unused` means not used for 90 days."""
    account_id = account.id if account else None
    return [
        _describe_token(each.token) | {"madeBy": each.made_by} for each in list_tokens(account_id)
    ]


@tokens.command("create", writes=True)
@click.option("--account", type=ACCOUNT, required=True, help="The owner.")
@click.option("--name", required=True, help="A name by which the owner recognizes it.")
@click.option(
    "--scopes",
    default=",".join(DEFAULT_SCOPES),
    show_default=True,
    help=f"One or more of {', '.join(Scope)}, separated by commas.",
)
@click.option("--project", type=PROJECT, help="The only project it may access.")
@click.option(
    "--days",
    default=DEFAULT_DAYS,
    type=click.IntRange(0, 3650),
    show_default=True,
    help="How long it works; 0 means forever.",
)
def create_token_command(
    account: Account, name: str, scopes: str, project: Project | None, days: int
) -> Record:
    """Create an access token for a claimed account, and print it; it is never shown again."""
    parsed = _read_scopes(scopes)
    if not 0 < len(name.strip()) <= 80 or not name.isprintable():
        raise click.ClickException("NAME must be one line of 1 to 80 characters.")
    if not account.is_claimed:
        raise click.ClickException("Nobody has claimed this account, so it has no tokens.")
    if project is not None and project.account_id != account.id:
        raise click.ClickException(f"The project {project.slug} is not one of {account.email}.")
    only = project.id if project else None
    token, plain = make_token(account.id, only, name.strip(), parsed, days or None, account.id)
    return _describe_token(token) | {"token": plain}


@tokens.command("revoke", writes=True)
@click.argument("token_id", metavar="ID")
def revoke_command(token_id: str) -> Record:
    """Revoke an access token."""
    token = get_token(token_id)
    revoke_token(token)
    return _describe_token(token)


def _read_scopes(text: str) -> list[Scope]:
    names = [each.strip() for each in text.split(",")]
    if unknown := [each for each in names if each not in [*Scope]]:
        raise click.ClickException(
            f"There is no scope {unknown[0] or '(empty)'}. The scopes are: {', '.join(Scope)}."
        )
    return [Scope(each) for each in names]


def _describe_token(token: AccessToken) -> Record:
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
