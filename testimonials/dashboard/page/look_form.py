"""The form of the page's settings: those of the API by their names there, flattened."""

from typing import Any, ClassVar

from testimonials.core.pictures.colours import ENOUGH, contrast, find_text
from testimonials.core.web.fields import Count, Switch, Text
from testimonials.dashboard.editors.forms import EditorForm, Website
from testimonials.projects.configuration import defaults, page_design, questions
from testimonials.projects.models import Project
from testimonials.projects.schemas import PageConfigUpdateSchema

ASKED = ("rating", "role", "company", "avatar", "email")
DESIGN = ("signature", "video", "voice", "needsCaptions")
FOCUS = {"focusX": "x", "focusY": "y"}
LIMITS = {
    "businessName": defaults.BUSINESS_NAME_LENGTH,
    "website": defaults.WEBSITE_LENGTH,
    "headline": defaults.HEADLINE_LENGTH,
    "description": defaults.DESCRIPTION_LENGTH,
    "thankYouMessage": defaults.THANK_YOU_LENGTH,
    "signature": page_design.SIGNATURE_LENGTH,
    "prompt": questions.PROMPT_LENGTH,
    "question": questions.QUESTION_LENGTH,
    "choice": questions.CHOICE_LENGTH,
    "end": questions.END_LENGTH,
    "stepTitle": page_design.STEP_TITLE_LENGTH,
    "stepText": page_design.STEP_TEXT_LENGTH,
    "code": page_design.CODE_LENGTH,
}


class PageForm(EditorForm, PageConfigUpdateSchema):
    """The settings of the tabs, each sent by the tab that has it."""

    class Meta(EditorForm.Meta, PageConfigUpdateSchema.Meta):
        include: ClassVar[dict[str, Any]] = {
            **{f"ask-{name}": Switch() for name in ASKED},
            # Whether a face and a name stand beside the description; off takes the name away.
            "isPerson": Switch(),
            "signature": Text(page_design.SIGNATURE_LENGTH, one_line=True),
            **{name: Switch() for name in ("video", "voice", "needsCaptions")},
            **{name: Count(0, 100) for name in FOCUS},
        }
        exclude = ("collectFields",)

    website = Website(defaults.WEBSITE_LENGTH, one_line=True)


def flatten(project: Project) -> dict[str, Any]:
    """Return the settings of the form as they are."""
    design = project.whole_page_design
    config = {"businessName": project.business_name} | project.page_config
    config |= {f"ask-{name}": config["collectFields"][name] for name in ASKED}
    config |= {name: design[name] for name in DESIGN}
    config |= {name: design["coverFocus"][axis] for name, axis in FOCUS.items()}
    config["isPerson"] = bool(design["signature"])
    return {name: config[name] for name in PageForm().fields}


def split(project: Project, changes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return changed settings as `update_page_config` and `update_page_design` take them."""
    asked = {name: changes.pop(f"ask-{name}") for name in ASKED if f"ask-{name}" in changes}
    if not changes.pop("isPerson", True):
        changes["signature"] = ""
    moved = {axis: changes.pop(name) for name, axis in FOCUS.items() if name in changes}
    design = {name: changes.pop(name) for name in DESIGN if name in changes}
    if moved:
        design["coverFocus"] = project.whole_page_design["coverFocus"] | moved
    return changes | ({"collectFields": asked} if asked else {}), design


def judge(project: Project) -> dict[str, Any]:
    """Return whether the button is readable, and the colour of its text that makes it so."""
    config = project.page_config
    button, text = config["buttonColor"], config["buttonTextColor"]
    ratio = contrast(button, text)
    return {
        # Cut, not rounded: 4.49 isn't 4.5.
        "ratio": f"{int(ratio * 10) / 10:g}",
        "is_enough": ratio >= ENOUGH,
        "suggestion": find_text(button, text),
    }
