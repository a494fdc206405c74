"""The form for a new access token."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from werkzeug.datastructures import MultiDict

from testimonials.access.scopes import DEFAULT_SCOPES, Scope
from testimonials.core.data.identifiers import new_identifier
from testimonials.core.web.fields import Choice, Text
from testimonials.core.web.forms import FormSchema
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import gettext_noop
from testimonials.dashboard.forms import Errors
from testimonials.projects.models import Project

NAME_LENGTH = 80
ALL = "all"
NEVER = "never"
ENDS = {"30": "30 days", "90": "90 days", "365": "365 days", NEVER: gettext_noop("Never")}
DEFAULT_DAYS = "90"


class TokenFormSchema(FormSchema):
    name = Text(
        NAME_LENGTH,
        one_line=True,
        required=True,
        error_messages={"required": gettext_noop("Name what will use the token.")},
    )
    ends = Choice(*ENDS, load_default=DEFAULT_DAYS)


@dataclass
class TokenForm:
    """What was chosen, or is suggested; the projects are those that it can be for."""

    projects: dict[str, str]
    name: str = ""
    scopes: list[Scope] = field(default_factory=lambda: list(DEFAULT_SCOPES))
    project: str = ""
    ends: str = DEFAULT_DAYS
    errors: Errors = field(default_factory=dict)

    @property
    def terms(self) -> dict[str, Any]:
        """What the token may do, where and for how long."""
        return {
            "scopes": self.scopes,
            "project_id": None if self.project == ALL else self.project,
            "days": None if self.ends == NEVER else int(self.ends),
        }

    def describe(self) -> dict[str, Any]:
        return {
            "form": self,
            "errors": self.errors,
            "all_scopes": list(Scope),
            "all_ends": ENDS,
            "once": new_identifier(),
        }


def list_choices(projects: Iterable[Project], *, with_all: bool) -> dict[str, str]:
    """Return the names of projects that a token can be for, by their ids."""
    choices = {project.id: project.name for project in projects}
    return choices | ({ALL: _("All projects, also later ones")} if with_all else {})


def suggest(projects: dict[str, str], project: str, wanted: Mapping[str, str]) -> TokenForm:
    """Return the form as a link fills it in, with Read and Draft unless it says otherwise."""
    form = TokenForm(projects, project=project)
    form.name = " ".join(wanted.get("name", "").split())[:NAME_LENGTH]
    named = wanted.get("scopes", "").replace(",", " ").split()
    form.scopes = [each for each in Scope if each in named] or form.scopes
    return form


def read_token_form(projects: dict[str, str], sent: MultiDict[str, str]) -> TokenForm:
    read = TokenFormSchema().read(sent)
    form = TokenForm(projects, errors=dict(read.errors))
    form.name = read.values.get("name") or read.typed["name"]
    form.scopes = [each for each in Scope if each in sent.getlist("scopes")]
    form.project = sent.get("project", "")
    form.ends = read.values.get("ends") or DEFAULT_DAYS
    if not form.scopes:
        form.errors["scopes"] = [_("Choose at least one thing that it may do.")]
    if form.project not in projects:
        form.errors["project"] = [_("Choose one of your projects.")]
    return form
