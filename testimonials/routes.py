"""Every blueprint, in the order of the features."""

from flask import Blueprint, Flask

from testimonials.auth.address_pages import address
from testimonials.auth.api import auth
from testimonials.auth.billing_pages import billing
from testimonials.auth.pages import claim
from testimonials.auth.session_pages import session
from testimonials.collection.author_pages import author
from testimonials.collection.invitation_pages import requests
from testimonials.collection.pages import collection
from testimonials.dashboard.account_pages import account
from testimonials.dashboard.checklist_pages import checklist
from testimonials.dashboard.export_pages import exporting
from testimonials.dashboard.import_pages import importing
from testimonials.dashboard.inbox_pages import inbox
from testimonials.dashboard.notification_pages import notifications
from testimonials.dashboard.page_editor_pages import page_editor
from testimonials.dashboard.pages import dashboard
from testimonials.dashboard.request_pages import asking
from testimonials.dashboard.settings_pages import settings
from testimonials.dashboard.share_pages import share
from testimonials.dashboard.team_pages import team
from testimonials.dashboard.testimonial_pages import editor
from testimonials.dashboard.widget_pages import widget_editor
from testimonials.operations.pages import site
from testimonials.projects.api import projects
from testimonials.projects.invitation_pages import invitation
from testimonials.projects.media_pages import media
from testimonials.projects.notification_pages import unsubscribe
from testimonials.testimonials.api import init_pages, testimonials
from testimonials.widget.api import widget
from testimonials.widget.fast_feed import init_feed
from testimonials.widget.feed import feed
from testimonials.widget.pages import wall

BLUEPRINTS: tuple[Blueprint, ...] = (
    auth,
    projects,
    widget,
    testimonials,
    claim,
    session,
    address,
    billing,
    invitation,
    feed,
    wall,
    media,
    unsubscribe,
    dashboard,
    inbox,
    page_editor,
    checklist,
    share,
    asking,
    importing,
    exporting,
    editor,
    settings,
    widget_editor,
    notifications,
    team,
    account,
    site,
    author,
    requests,
    collection,
)


def register_routes(app: Flask) -> None:
    """Attach every blueprint to `app`."""
    init_pages(app)
    init_feed(app)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
