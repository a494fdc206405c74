"""Every blueprint, in the order of the features."""

from flask import Blueprint, Flask

from testimonials.auth.api import auth
from testimonials.auth.pages import claim
from testimonials.auth.session_pages import session
from testimonials.collection.pages import collection
from testimonials.dashboard.account_pages import account
from testimonials.dashboard.checklist_pages import checklist
from testimonials.dashboard.inbox_pages import inbox
from testimonials.dashboard.pages import dashboard
from testimonials.dashboard.settings_pages import settings
from testimonials.dashboard.share_pages import share
from testimonials.dashboard.testimonial_pages import editor
from testimonials.operations.pages import site
from testimonials.projects.api import projects
from testimonials.projects.media_pages import media
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
    feed,
    wall,
    media,
    dashboard,
    inbox,
    checklist,
    share,
    editor,
    settings,
    account,
    site,
    collection,
)


def register_routes(app: Flask) -> None:
    """Attach every blueprint to `app`."""
    init_pages(app)
    init_feed(app)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
