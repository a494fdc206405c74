"""The finished card on the form and on the thank-you page, as the widget is configured."""

from collections.abc import Mapping, Sequence
from typing import Any

from testimonials.collection.look.steps import Step
from testimonials.core import clock
from testimonials.core.web.languages import gettext as _
from testimonials.projects.models import Project
from testimonials.testimonials.answers import Answer
from testimonials.testimonials.models import Testimonial
from testimonials.widget.content.extras import write_answers
from testimonials.widget.content.saved_widgets import read_settings
from testimonials.widget.rendered.rendering import Still, make_still
from testimonials.widget.services import describe_shown


def show_card(project: Project, row: Testimonial) -> Still:
    """Return the card of a testimonial as the public will see it."""
    return _make(project, describe_shown(project, [row])[0])


def preview_card(
    project: Project,
    typed: Mapping[str, str],
    photo: str | None,
    answers: Sequence[Answer] | None,
    gift: Step | None,
) -> Still:
    """Return the card of what was typed so far, with everything in it that a script may fill in."""
    rating = typed.get("rating") or "5"
    item: dict[str, Any] = {
        "id": "",
        "authorName": typed.get("name") or _("Your name"),
        "authorRole": typed.get("role", ""),
        "authorCompany": typed.get("company"),
        "authorAvatar": photo,
        "text": typed.get("text") or _("Your words"),
        "rating": int(rating) if rating in "12345" else 5,
        "submittedAt": clock.iso(clock.now()),
    }
    item["extras"] = {
        "answers": write_answers(each for each in answers or () if each["isPublic"]),
        "marks": ["rewarded"] if gift else [],
    }
    return _make(project, item)


def _make(project: Project, item: dict[str, Any]) -> Still:
    settings = read_settings(project)
    return make_still(project, settings, [item], kind="single", is_player=True)
