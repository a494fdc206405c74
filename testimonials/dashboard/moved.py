"""Redirects from old URLs of pages, for links in emails and bookmarks."""

from functools import partial
from typing import Any
from urllib.parse import urlencode

from flask import current_app, redirect, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.auth.sessions import SignedIn
from testimonials.core.http.blueprints import home
from testimonials.dashboard.framework import require_session
from testimonials.projects.access import Role, find_access

PROJECT = "/dashboard/projects/<project_id>"
# The endpoint of the current page, perhaps with an anchor, by old URL rule.
MOVED = {
    PROJECT: "dashboard.inbox.show_inbox",
    f"{PROJECT}/domain": "dashboard.settings.show_domain",
    f"{PROJECT}/activity": "dashboard.settings.show_activity",
    f"{PROJECT}/integrations": "dashboard.settings.show_developers",
    f"{PROJECT}/integrations/tokens/new": "dashboard.settings.show_token_form",
    f"{PROJECT}/invitations": "dashboard.collect.show_collect",
    f"{PROJECT}/invitations.csv": "dashboard.collect.download_requests",
    f"{PROJECT}/forms": "dashboard.collect.show_page_editor",
    f"{PROJECT}/forms/<form_name>": "dashboard.collect.show_page_editor",
    f"{PROJECT}/forms/<form_name>/words": "dashboard.collect.show_words",
    f"{PROJECT}/leave": "dashboard.people.show_leaving",
    f"{PROJECT}/notifications": "dashboard.settings.show_mail",
    f"{PROJECT}/order": "dashboard.widget.show_order",
    f"{PROJECT}/offer": "dashboard.people.show_offer",
    f"{PROJECT}/proposals": "dashboard.inbox.show_inbox#proposals",
    f"{PROJECT}/purchases": "dashboard.settings.show_purchases",
    f"{PROJECT}/share": "dashboard.collect.show_collect",
    f"{PROJECT}/share/card": "dashboard.collect.show_card",
    f"{PROJECT}/share/qr.<any(svg,png):kind>": "dashboard.collect.get_qr_code",
    f"{PROJECT}/page": "dashboard.collect.show_page_editor",
    f"{PROJECT}/page/after": "dashboard.collect.show_page_editor#after",
    f"{PROJECT}/page/questions": "dashboard.collect.show_page_editor",
    f"{PROJECT}/page/words": "dashboard.collect.show_words",
    f"{PROJECT}/widgets": "dashboard.widget.show_editor",
    f"{PROJECT}/team": "dashboard.people.show_people",
    "/dashboard/account/team": "dashboard.people.show_all_people",
}


@require_session
def follow(owner: SignedIn, **parts: str) -> ResponseReturnValue:
    """Redirect to the page's current URL, with the rest of the path and the query as its query."""
    if "project_id" in parts:
        find_access(owner, parts["project_id"], Role.READER)
    endpoint, mark, anchor = MOVED[str(request.url_rule)].partition("#")
    expects = partial(current_app.url_map.is_endpoint_expecting, endpoint)
    known: dict[str, Any] = {name: text for name, text in parts.items() if expects(name)}
    url = url_for(endpoint, **known)
    # Not by `url_for`, which takes some names as options.
    query = [
        (name.removesuffix("_name"), text) for name, text in parts.items() if name not in known
    ]
    query += [(name, text) for name, text in request.args.items(multi=True) if name not in known]
    if query:
        url += f"{'&' if '?' in url else '?'}{urlencode(query)}"
    return redirect(url + mark + anchor, 303)


for _number, _rule in enumerate(MOVED):
    home.add_url_rule(_rule, f"moved_{_number}", follow, methods=["GET"])
