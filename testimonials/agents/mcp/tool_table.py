"""The table of tools: each is one operation of the API, named by what an owner would say.

Arguments and their meaning come from the operation; here stands what helps a model choose. At most
20, since every one costs each conversation a few hundred words.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tool:
    """A tool, and the `operationId` it runs; `is_destructive` if it may take something away."""

    name: str
    operation: str
    title: str
    description: str
    is_destructive: bool = False


TOOLS = (
    Tool(
        "list_projects",
        "list_projects",
        "List projects",
        "List the projects, each the testimonials of one business: id, name, collection page, "
        "widget settings. Other tools take the id as projectId.",
    ),
    Tool(
        "list_testimonials",
        "list_testimonials",
        "List published testimonials",
        "List what the widget shows: approved testimonials and samples (status demo), newest "
        "first. For those that wait for a decision use list_waiting.",
    ),
    Tool(
        "change_widget",
        "update_widget_config",
        "Change the widget",
        "Change how testimonials look on the website: layout, theme, colour, card style, what "
        "each card shows. Send only what should change.",
    ),
    Tool(
        "get_embed_snippet",
        "get_embed_snippet",
        "Get the embed snippet",
        "Get the HTML that puts the testimonials on a website. Call it last, and paste both parts "
        "unchanged.",
    ),
)
