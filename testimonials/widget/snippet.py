"""The embed snippet, which an owner puts into a web page."""

from markupsafe import Markup, escape

from testimonials.core.urls import script_url, widget_page_url
from testimonials.projects.models import Project
from testimonials.testimonials.recordings.describing import load_recordings
from testimonials.widget.content.content import read_content
from testimonials.widget.content.extras import describe_extras
from testimonials.widget.content.listing import count_shown, list_shown
from testimonials.widget.content.saved_widgets import find_settings
from testimonials.widget.rendered.cards import weigh
from testimonials.widget.reserve import Look, Words, reserve_height
from testimonials.widget.script.assembly import script_digest, script_integrity
from testimonials.widget.selection import BADGES, CARDS, WHOLE, Selection

# Frames don't grow with their content.
FRAME_HEIGHT = 600
FRAME_HEIGHT_OF_ONE = 360
FRAME_HEIGHTS = dict.fromkeys(BADGES, 64) | {
    "badge-card": 180,
    "strip": 200,
    "single": FRAME_HEIGHT_OF_ONE,
}
# The heights of shapes that look the same whatever they show; a popup and what stands in a corner
# or in a sentence take no place of their own.
HEIGHTS = {
    "badge": "44px",
    "badge-card": "146px",
    "people": "44px",
    "strip": "158px",
    "badge-sentence": "",
    "badge-corner": "",
    "popup": "",
}
FLOATING = ("badge-corner", "popup")


def build_snippet(project: Project, selection: Selection = WHOLE) -> dict[str, str]:
    """Return the embed snippet (spec, "GET /v1/projects/:id/embed-snippet").

    The container shows a link until the testimonials have loaded, and a frame with the widget's
    page where scripts are disabled.
    """
    widget_url = script_url()
    return {
        "projectId": project.id,
        "widgetUrl": widget_url,
        "script": f'<script src="{escape(widget_url)}" async></script>',
        "container": _build_container(project, selection),
    }


def build_checked_script() -> str:
    """Return a script element whose URL and integrity pin the current version of the script."""
    return (
        f'<script src="{escape(script_url(script_digest()))}" integrity="{script_integrity()}" '
        'crossorigin="anonymous" async></script>'
    )


def container_attributes(project: Project, selection: Selection) -> Markup:
    attributes = {"data-testimonials-project": project.id}
    for name, value in selection.query.items():
        attributes[f"data-testimonials-{name}"] = value
    return Markup(" ").join(
        Markup('{}="{}"').format(name, value) for name, value in attributes.items()
    )


def frame_height(selection: Selection) -> int:
    """Return the height in pixels of a frame with the widget's page."""
    height = FRAME_HEIGHT_OF_ONE if selection.testimonial_id else FRAME_HEIGHT
    return FRAME_HEIGHTS.get(selection.shape, height)


def _build_container(project: Project, selection: Selection) -> str:
    attributes = container_attributes(project, selection)
    page = widget_page_url(project.id, selection.widget)
    shape = find_settings(project, selection.widget).design["shape"]
    selection = selection.with_shape(shape)
    if height := reserve_space(project, selection):
        # The first is for browsers without max().
        first = height.removeprefix("max(").partition(",")[0]
        again = f"min-height:{height};" if height != first else ""
        attributes += Markup(f' style="min-height:{first};{again}--tm-reserve:{height}"')  # noqa: S704
    frame = Markup(
        '<noscript><iframe src="{}" title="Testimonials" loading="lazy" '
        'width="100%" height="{}" frameborder="0"></iframe></noscript>'
    ).format(page, FRAME_HEIGHT)
    if selection.shape in FLOATING:
        # What floats above the page has nothing to stand in for it.
        return f"<div {attributes}></div>"
    # Only a span can stand within a sentence.
    tag = "span" if selection.shape == "badge-sentence" else "div"
    return str(
        Markup('<{} {}><a href="{}">Read our testimonials</a>{}</{}>').format(
            tag, attributes, page, frame if selection.is_whole else "", tag
        )
    )


def reserve_space(project: Project, selection: Selection) -> str:
    """Return the height to reserve for a container, as a CSS length; empty for none."""
    if selection.shape in HEIGHTS:
        return HEIGHTS[selection.shape]
    settings = find_settings(project, selection.widget)
    config, content = settings.config, read_content(settings.design, selection)
    limit = CARDS.get(selection.shape) or config["initialCount"]
    rows, cursor = list_shown(project, content, None, limit)
    load_recordings(rows)
    words = [
        Words(
            weigh(row.text),
            row.text.count("\n"),
            row.rating is not None,
            len(row.reply or ""),
            row.is_pinned,
            describe_extras(row, project) or {},
        )
        for row in rows
    ]
    # An empty project will have at least one testimonial when visitors first see the widget.
    words = words or [Words(120, 0, True)]
    # A testimonial by itself is shown without the widget's buttons.
    if not selection.is_whole:
        cursor, config = None, config | {"showCtaButton": False}
    has_more = cursor is not None and count_shown(project, content) > len(rows)
    return reserve_height(words, Look(config, settings.design), has_more)
