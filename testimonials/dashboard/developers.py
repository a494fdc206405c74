"""API and developers: a row for each thing that programs use, and the pages of most of them."""

from typing import Any

from flask import render_template, request
from marshmallow import fields

from testimonials.collection import verified_purchases
from testimonials.collection.events import PURCHASES_CHANGED
from testimonials.core.audit import record
from testimonials.core.http import urls
from testimonials.core.http.blueprints import settings
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop
from testimonials.dashboard.activity import describe_activity, describe_newest, read_search
from testimonials.dashboard.formatting import highlight
from testimonials.dashboard.framework import Done, ProjectPage, Values
from testimonials.dashboard.tokens import describe_tokens, find_newest_use
from testimonials.integrations.webhooks.endpoints import list_endpoints
from testimonials.projects.access import Access
from testimonials.projects.models import Project

overview = ProjectPage(settings, "settings/developers", "settings/developers/developers.html")
# Of several endpoints, the state of the first of these is told.
STATES = {
    "failing": gettext_noop("Failing"),
    "off": gettext_noop("Switched off"),
    "paused": gettext_noop("Paused"),
    "working": gettext_noop("All delivered"),
}


@overview.show
def show_developers(access: Access) -> Values:
    tokens = describe_tokens(access)
    found = {each.state for each in list_endpoints(access.project)}
    state = next((each for each in STATES if each in found), "")
    search = read_search(access.project.account_id, {}, access.project.id)
    return {
        "newest_use": find_newest_use(tokens),
        "token_count": len(tokens),
        "state": state,
        "webhooks": _(STATES[state]) if state else _("None yet"),
        "proves": _("On") if access.project.purchase_secret else _("Off"),
        "newest": describe_newest(search),
    }


# Connecting an agent.

CLIENTS = {
    "json": gettext_noop("MCP, JSON"),
    "line": gettext_noop("MCP, one line"),
    "curl": gettext_noop("Command line"),
    "prompt": gettext_noop("A prompt to paste"),
}
agents = ProjectPage(settings, "settings/developers/agents", "settings/developers/agents.html")


@agents.show
def show_agents(access: Access) -> Values:
    """Show the ways to connect; ``?client=`` opens one."""
    wanted = request.args.get("client", "")
    current = wanted if wanted in CLIENTS else next(iter(CLIENTS))
    newest = find_newest_use(describe_tokens(access))
    return {"clients": _describe_clients(access.project, current), "newest_use": newest}


def _describe_clients(project: Project, current: str) -> list[dict[str, Any]]:
    values = {
        "base": urls.base_url(),
        "mcp": urls.mcp_url(),
        "guide": urls.agent_guide_url(),
        "project": project,
    }
    return [
        {
            "key": key,
            "name": _(name),
            "code": highlight(
                render_template(f"dashboard/settings/developers/connect/{key}.txt", **values)
            ),
            "is_current": key == current,
        }
        for key, name in CLIENTS.items()
    ]


# Addresses and lines for a website that takes no widget, or watches what it loads.

SOURCES = ("script-src", "connect-src", "img-src")
feeds = ProjectPage(settings, "settings/developers/feeds", "settings/developers/feeds.html")


@feeds.show
def show_feeds(access: Access) -> Values:
    project_id, origin = access.project.id, urls.origin_of(urls.base_url())
    return {
        "json_feed_url": urls.json_feed_url(project_id),
        "fragment_url": urls.fragment_url(project_id),
        "newsletter_url": urls.newsletter_url(project_id),
        "policy": "\n".join(f"{name} {origin};" for name in SOURCES),
    }


# Links that prove a purchase: what a shop needs to sign them, and switching them off.

purchases = ProjectPage(
    settings, "settings/developers/purchases", "settings/developers/purchases.html"
)


@purchases.show
def show_purchases(access: Access) -> Values:
    project = access.project
    return {
        "last_four": (project.purchase_secret or "")[-4:],
        "old_until": project.old_purchase_secret_until
        if verified_purchases.find_old_secret(project)
        else None,
        "verified": verified_purchases.count_verified(project),
        "link": urls.collection_page_url(project.slug, project.own_host),
    }


@purchases.save(
    {"last_four": fields.String(load_default="")}, at="/secret", step_up="make a signing secret"
)
def replace_secret(access: Access, last_four: str) -> Done:
    """Make a secret, or replace the one that the form was about, and show it, once."""
    if last_four != (access.project.purchase_secret or "")[-4:]:
        return Done(_("This secret was replaced already. The new one was shown once."))
    secret = verified_purchases.make_secret(access.project)
    record(PURCHASES_CHANGED, access.project)
    return Done(page=purchases, shown={"new_secret": secret})


@purchases.save(at="/off")
def switch_off(access: Access) -> Done:
    """Forget the secret: links that were signed with it open the plain form."""
    access.project.purchase_secret = None
    verified_purchases.end_old_secret(access.project)
    record(PURCHASES_CHANGED, access.project)
    return Done(_("These links open the plain form from now on."))


@purchases.save(at="/end-old")
def end_old(access: Access) -> Done:
    """End the former owner's secret at once."""
    verified_purchases.end_old_secret(access.project)
    record(PURCHASES_CHANGED, access.project)
    return Done(_("The former owner’s secret has ended."))


# Who did what.

activity = ProjectPage(
    settings, "settings/developers/activity", "account/activity.html", nav="settings"
)


@activity.show
def show_activity(access: Access) -> Values:
    """Show who did what in this project, however long ago."""
    search = read_search(access.project.account_id, request.args, access.project.id)
    return describe_activity(search)
