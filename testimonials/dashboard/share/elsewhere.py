"""What the Share page offers for places that take no widget."""

from markupsafe import Markup

from testimonials.core.urls import json_feed_url, newsletter_url, script_url, widget_page_url
from testimonials.dashboard.share.embed_choice import Choice
from testimonials.projects.models import Project
from testimonials.widget.formats.choosing import PARAMETERS, add_query, choose_items
from testimonials.widget.formats.newsletter import IN_NEWSLETTER, render_newsletter
from testimonials.widget.snippet import reserve_space


def describe_elsewhere(project: Project, choice: Choice) -> dict[str, str]:
    """Return each format of the chosen testimonials, and its address."""
    chosen = {name: value for name, value in choice.selection.query.items() if name in PARAMETERS}
    items = choose_items(project, chosen, IN_NEWSLETTER)
    return {
        "newsletter": render_newsletter(items),
        "newsletter_url": add_query(newsletter_url(project.id), chosen),
        "json_feed_url": add_query(json_feed_url(project.id), chosen),
        "address": choice.add_to(widget_page_url(project.id)),
        "shortcode": _write_shortcode(project, choice),
        "element": _write_element(project, choice),
    }


def _write_shortcode(project: Project, choice: Choice) -> str:
    """Return the shortcode of the plugin in packages/wordpress."""
    values = {"project": project.id} | choice.selection.query
    # These would end it, and have no other spelling there.
    ends = str.maketrans("", "", '"[]')
    written = (f'{name}="{value.translate(ends)}"' for name, value in values.items())
    return f"[testimonials_widget {' '.join(written)}]"


def _write_element(project: Project, choice: Choice) -> str:
    """Return the element of the package in packages/testimonials-widget."""
    # `id` is every element's own.
    names = {"id": "testimonial"}
    attributes = {"project": project.id, "src": script_url()}
    attributes |= {names.get(name, name): value for name, value in choice.selection.query.items()}
    if height := reserve_space(project, choice.selection):
        attributes["style"] = f"display:block;min-height:{height};--tm-reserve:{height}"
    written = Markup(" ").join(
        Markup('{}="{}"').format(name, value) for name, value in attributes.items()
    )
    link = Markup('<a href="{}">Read our testimonials</a>').format(widget_page_url(project.id))
    return f"<testimonials-widget {written}>{link}</testimonials-widget>"
