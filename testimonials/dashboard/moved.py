"""Redirects from former URLs of pages, for links in mails and bookmarks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from flask import current_app, redirect, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.auth.sessions import SignedIn
from testimonials.core.http.blueprints import home
from testimonials.dashboard.framework import require_session
from testimonials.projects.access import Role, find_access


@dataclass(frozen=True)
class Place:
    """A page, with an anchor or further values for its URL."""

    endpoint: str
    anchor: str = ""
    values: Mapping[str, str] = field(default_factory=dict)


PROJECT = "/dashboard/projects/<project_id>"
# By former URL rule.
MOVED = {
    PROJECT: Place("dashboard.inbox.show_inbox"),
    f"{PROJECT}/domain": Place("dashboard.settings.show_domain"),
    f"{PROJECT}/activity": Place("dashboard.settings.show_activity"),
    f"{PROJECT}/integrations": Place("dashboard.settings.show_developers"),
    f"{PROJECT}/integrations/tokens/new": Place("dashboard.settings.show_token_form"),
    f"{PROJECT}/invitations": Place("dashboard.collect.show_collect"),
    f"{PROJECT}/invitations.csv": Place("dashboard.collect.download_requests"),
    f"{PROJECT}/forms": Place("dashboard.collect.show_page_editor"),
    f"{PROJECT}/forms/<form_name>": Place("dashboard.collect.show_page_editor"),
    f"{PROJECT}/forms/<form_name>/words": Place("dashboard.collect.show_words"),
    f"{PROJECT}/leave": Place("dashboard.people.show_leaving"),
    f"{PROJECT}/notifications": Place("dashboard.settings.show_mail"),
    f"{PROJECT}/order": Place("dashboard.widget.show_order"),
    f"{PROJECT}/offer": Place("dashboard.people.show_offer"),
    f"{PROJECT}/proposals": Place("dashboard.inbox.show_inbox", "proposals"),
    f"{PROJECT}/purchases": Place("dashboard.settings.show_purchases"),
    f"{PROJECT}/share": Place("dashboard.collect.show_collect"),
    f"{PROJECT}/share/card": Place("dashboard.collect.show_card"),
    f"{PROJECT}/share/qr.png": Place("dashboard.collect.get_qr_code", values={"kind": "png"}),
    f"{PROJECT}/share/qr.svg": Place("dashboard.collect.get_qr_code", values={"kind": "svg"}),
    f"{PROJECT}/page": Place("dashboard.collect.show_page_editor"),
    f"{PROJECT}/page/after": Place("dashboard.collect.show_page_editor", "after"),
    f"{PROJECT}/page/questions": Place("dashboard.collect.show_page_editor"),
    f"{PROJECT}/page/words": Place("dashboard.collect.show_words"),
    f"{PROJECT}/widgets": Place("dashboard.widget.show_editor"),
    f"{PROJECT}/team": Place("dashboard.people.show_people"),
    "/dashboard/account/team": Place("dashboard.people.show_all_people"),
}


@require_session
def follow(owner: SignedIn, **parts: str) -> ResponseReturnValue:
    """Redirect to the page's present URL, with the rest of the path and query as its query."""
    if "project_id" in parts:
        find_access(owner, parts["project_id"], Role.READER)
    place = MOVED[str(request.url_rule)]
    expects = current_app.url_map.is_endpoint_expecting
    known: dict[str, Any] = {
        name: text for name, text in parts.items() if expects(place.endpoint, name)
    }
    url = url_for(place.endpoint, **known | dict(place.values))
    # Not by `url_for`, which takes some names as options.
    query = [
        (name.removesuffix("_name"), text) for name, text in parts.items() if name not in known
    ]
    query += [(name, text) for name, text in request.args.items(multi=True) if name not in known]
    if query:
        url += f"{'&' if '?' in url else '?'}{urlencode(query)}"
    return redirect(f"{url}#{place.anchor}" if place.anchor else url, 303)


for _number, _rule in enumerate(MOVED):
    home.add_url_rule(_rule, f"moved_{_number}", follow, methods=["GET"])
