"""`testimonials tokens`."""

from typing import Any

import click

from testimonials.access.models import AccessToken
from testimonials.access.scopes import DEFAULT_SCOPES, Scope
from testimonials.access.tokens import (
    DEFAULT_DAYS,
    get_token,
    list_tokens,
    make_token,
    revoke_token,
)
from testimonials.access.uses import find_last_use
from testimonials.auth.services import get_account
from testimonials.core.clock import iso
from testimonials.core.commands import database_command, json_option, print_record, print_rows
from testimonials.extensions import begin_write, db
from testimonials.projects.services import get_project


@click.group()
def tokens() -> None:
    """List, make and revoke access tokens."""


@tokens.command("list")
@click.option("--account", metavar="ID_OR_EMAIL", help="Only the tokens of this account.")
@json_option
@database_command
def list_command(account: str | None, as_json: bool) -> None:
    """List access tokens, newest first; `unused` are those that nobody used for 90 days."""
    account_id = get_account(account).id if account else None
    rows = [_describe(each.token) | {"madeBy": each.made_by} for each in list_tokens(account_id)]
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
def create_command(
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
    print_record(_describe(token) | {"token": plain}, as_json=as_json)


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
    print_record(_describe(token), as_json=as_json)


def _read_scopes(text: str) -> list[Scope]:
    names = [each.strip() for each in text.split(",")]
    if unknown := [each for each in names if each not in [*Scope]]:
        raise click.ClickException(
            f"There is no scope {unknown[0] or '(empty)'}. The scopes are: {', '.join(Scope)}."
        )
    return [Scope(each) for each in names]


def _describe(token: AccessToken) -> dict[str, Any]:
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
