"""The Integrations page as a whole."""

from typing import Any

from flask import render_template, request

from testimonials.dashboard.account.activity_view import describe_newest, read_search
from testimonials.dashboard.guards import build_shell
from testimonials.dashboard.integrations.token_view import (
    describe_connect,
    describe_tokens,
    find_newest_use,
)
from testimonials.dashboard.integrations.webhook_view import describe_endpoints
from testimonials.dashboard.notices import read_notice
from testimonials.projects.access import Access


def render_overview(
    access: Access,
    *,
    new_token: dict[str, str] | None = None,
    new_secret: dict[str, str] | None = None,
) -> str:
    """Return the page, with what was just made and is shown this once."""
    tokens = describe_tokens(access)
    search = read_search(access.project.account_id, request.args, access.project.id)
    shown: dict[str, Any] = {
        "tokens": tokens,
        "newest_use": find_newest_use(tokens),
        "clients": describe_connect(access.project, request.args.get("client", "")),
        "endpoints": describe_endpoints(access),
        "activity": describe_newest(search),
    }
    return render_template(
        "dashboard/integrations/integrations.html",
        shell=build_shell(access, "integrations"),
        notice=read_notice(),
        new_token=new_token,
        new_secret=new_secret,
        **shown,
    )
