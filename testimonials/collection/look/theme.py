"""The style sheets of a project's pages, which allow no inline style."""

from testimonials.core.pictures.colours import find_text
from testimonials.projects.models import Project
from testimonials.widget.content.saved_widgets import read_settings
from testimonials.widget.design.colours import derive_colours
from testimonials.widget.rendered.look import page_styles


def write_theme(project: Project) -> str:
    """Return the colours that follow from the button's, and where the cover is looked at.

    The button keeps its colour: where its text could not be read, it gets another text.
    """
    config, focus = project.page_config, project.whole_page_design["coverFocus"]
    button = config["buttonColor"]
    both = derive_colours(button)
    names = {
        "accent": "accent",
        "solid": "solid",
        "on-solid": "on",
        "soft": "soft",
        "on-soft": "text",
    }
    derived = [
        f"--{own}:light-dark({both.light[name]},{both.dark[name]})" for own, name in names.items()
    ]
    # At the root, where the editor's preview sets what was chosen just now.
    chosen = (
        f"--tm-button:{button};--tm-button-text:{find_text(button, config['buttonTextColor'])};"
        f"--tm-focus:{focus['x']}% {focus['y']}%"
    )
    return f":root{{{chosen}}}.page-collection{{{';'.join(derived)}}}"


def write_card_styles(project: Project) -> str:
    """Return the styles of the widget's cards, as configured, within an element of ours."""
    return page_styles(read_settings(project), "", "single", 1, has_extras=True)
