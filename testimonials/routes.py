"""Every blueprint, in the order of the features."""

from typing import Any

from flask import Blueprint, Flask, current_app, has_request_context, request

from testimonials.access.uses import init_uses
from testimonials.agents.mcp.api import mcp
from testimonials.agents.oauth.api import oauth
from testimonials.agents.oauth.pages import consent
from testimonials.agents.setup.api import setup
from testimonials.auth.address_change.pages import address
from testimonials.auth.api import auth
from testimonials.auth.billing.pages import billing
from testimonials.auth.company.claim_pages import company_claim
from testimonials.auth.company.pages import company
from testimonials.auth.pages import claim
from testimonials.auth.proofs.pages import proofs
from testimonials.auth.sign_in.pages import session
from testimonials.collection.authors.pages import author
from testimonials.collection.forms.api import forms
from testimonials.collection.pages import collection
from testimonials.collection.picture.api import pictures
from testimonials.collection.purchases.api import purchases
from testimonials.collection.requests.api import asked
from testimonials.collection.requests.pages import requests
from testimonials.dashboard.account.company_pages import account_company
from testimonials.dashboard.account.pages import account
from testimonials.dashboard.account.proof_pages import proof_settings
from testimonials.dashboard.account.security_pages import security
from testimonials.dashboard.account.team_pages import workspace
from testimonials.dashboard.editors.order_pages import order
from testimonials.dashboard.editors.saved_widget_pages import saved_widgets
from testimonials.dashboard.editors.widget_pages import widget_editor
from testimonials.dashboard.inbox.checklist_pages import checklist
from testimonials.dashboard.inbox.decide_pages import deciding
from testimonials.dashboard.inbox.link_pages import decision_link
from testimonials.dashboard.inbox.pages import inbox
from testimonials.dashboard.inbox.picture_pages import picture
from testimonials.dashboard.inbox.recording_pages import recording
from testimonials.dashboard.inbox.testimonial_pages import editor
from testimonials.dashboard.insights.pages import insights_page
from testimonials.dashboard.integrations.delivery_pages import deliveries
from testimonials.dashboard.integrations.pages import integrations
from testimonials.dashboard.integrations.token_pages import tokens
from testimonials.dashboard.integrations.webhook_pages import endpoints
from testimonials.dashboard.page.form_pages import page_forms
from testimonials.dashboard.page.look_pages import page_editor
from testimonials.dashboard.page.picture_pages import page_pictures
from testimonials.dashboard.page.words_pages import page_words
from testimonials.dashboard.pages import dashboard
from testimonials.dashboard.project.domain_pages import domain_pages
from testimonials.dashboard.project.notification_pages import notifications
from testimonials.dashboard.project.ownership_pages import ownership
from testimonials.dashboard.project.settings_pages import settings
from testimonials.dashboard.project.team_pages import team
from testimonials.dashboard.proposals.pages import decisions
from testimonials.dashboard.requests.pages import asking
from testimonials.dashboard.requests.purchase_pages import purchase_links
from testimonials.dashboard.share.pages import share
from testimonials.dashboard.transfer.archive_pages import archives
from testimonials.dashboard.transfer.export_pages import exporting
from testimonials.dashboard.transfer.import_pages import importing
from testimonials.domains.api import domain
from testimonials.domains.pages import hosts
from testimonials.insights.api import counted
from testimonials.insights.counting import init_insights
from testimonials.insights.pages import beacons
from testimonials.media.pages import recordings
from testimonials.media.playing_pages import playing
from testimonials.operations.pages import site
from testimonials.operator.pages import operator
from testimonials.operator.reports.public_pages import reporting
from testimonials.projects.api import projects
from testimonials.projects.configuration.api import configuration
from testimonials.projects.media_pages import media
from testimonials.projects.notifications.pages import unsubscribe
from testimonials.projects.team.invitation_pages import invitation
from testimonials.proposals.api import proposals
from testimonials.testimonials.api import init_pages, testimonials
from testimonials.testimonials.editing.api import editing
from testimonials.testimonials.moderation.api import moderation
from testimonials.transfer.imports.api import imports
from testimonials.webhooks.api import webhooks
from testimonials.widget.api import widget
from testimonials.widget.fast_feed import init_feed
from testimonials.widget.feed import feed
from testimonials.widget.formats.pages import formats
from testimonials.widget.rendered.pages import rendered
from testimonials.widget.rendered.wall_contents import init_wall
from testimonials.widget.rendered.wall_pages import wall

BLUEPRINTS: tuple[Blueprint, ...] = (
    auth,
    setup,
    projects,
    domain,
    hosts,
    configuration,
    forms,
    widget,
    testimonials,
    editing,
    moderation,
    imports,
    asked,
    purchases,
    counted,
    proposals,
    pictures,
    webhooks,
    claim,
    session,
    company,
    company_claim,
    proofs,
    address,
    billing,
    invitation,
    feed,
    beacons,
    rendered,
    wall,
    formats,
    media,
    recordings,
    playing,
    unsubscribe,
    mcp,
    oauth,
    consent,
    dashboard,
    inbox,
    page_editor,
    page_pictures,
    page_forms,
    page_words,
    checklist,
    deciding,
    decision_link,
    share,
    insights_page,
    integrations,
    tokens,
    endpoints,
    deliveries,
    asking,
    purchase_links,
    decisions,
    importing,
    archives,
    exporting,
    editor,
    recording,
    picture,
    settings,
    widget_editor,
    saved_widgets,
    order,
    domain_pages,
    notifications,
    team,
    ownership,
    workspace,
    account,
    account_company,
    security,
    proof_settings,
    site,
    operator,
    reporting,
    author,
    requests,
    collection,
)


def register_routes(app: Flask) -> None:
    """Attach every blueprint to `app`."""
    init_pages(app)
    init_uses(app)
    init_feed(app)
    init_wall(app)
    init_insights(app)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    app.url_defaults(_stay_in_project)


def _stay_in_project(endpoint: str, values: dict[str, Any]) -> None:
    """Let the pages of a project link to each other without naming the project each time."""
    here = (request.view_args or {}).get("project_id") if has_request_context() else None
    if here and current_app.url_map.is_endpoint_expecting(endpoint, "project_id"):
        values.setdefault("project_id", here)
