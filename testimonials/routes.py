"""Every blueprint, in the order of the features."""

from flask import Flask

from testimonials.auth.api import auth
from testimonials.auth.pages import claim
from testimonials.collection.pages import collection
from testimonials.operations.pages import site
from testimonials.projects.api import projects
from testimonials.testimonials.api import init_pages, testimonials
from testimonials.widget.api import widget
from testimonials.widget.fast_feed import init_feed
from testimonials.widget.feed import feed
from testimonials.widget.pages import wall


def register_routes(app: Flask) -> None:
    """Attach every blueprint to `app`."""
    init_pages(app)
    init_feed(app)
    for blueprint in (auth, projects, widget, testimonials, claim, feed, wall, site, collection):
        app.register_blueprint(blueprint)
