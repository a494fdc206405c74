"""What a proposal would look like: the page or widget with its values, and its picture."""

from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, g, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import select

from testimonials.collection.describe import describe_form
from testimonials.collection.forms.services import preview_form, preview_page_design
from testimonials.collection.submission_form import FilledForm
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.pictures.images import CONTENT_TYPE, Image
from testimonials.core.web.errors import NotFound
from testimonials.core.web.languages import gettext_noop
from testimonials.dashboard.editors.widget_view import describe_preview
from testimonials.dashboard.guards import require_role
from testimonials.dashboard.proposals.view import kinds_of
from testimonials.extensions import db
from testimonials.projects.access import Access, Role, RoleTooLow
from testimonials.projects.changes import update_page_config
from testimonials.projects.models import Project
from testimonials.proposals.kinds import KINDS
from testimonials.proposals.models import Proposal
from testimonials.widget.content.saved_widgets import change_widget
from testimonials.widget.design.drafts import read_published
from testimonials.widget.services import update_widget_config

previews = Blueprint("previews", __name__)

CHANGES: dict[str, Callable[[Project, dict[str, Any]], None]] = {
    "page": update_page_config,
    "logo": lambda project, values: setattr(project, "logo_id", values["image_id"]),
    "cover": lambda project, values: setattr(project, "cover_id", values["image_id"]),
    "portrait": lambda project, values: setattr(project, "portrait_id", values["image_id"]),
    "page.design": preview_page_design,
    "form": lambda _project, _values: None,
    "widget": update_widget_config,
    "design": lambda project, values: change_widget(project, project, values),
}


@previews.get("/dashboard/projects/<project_id>/proposals/<proposal_id>/preview")
@require_role(Role.READER)
def show_preview(access: Access, proposal_id: str) -> ResponseReturnValue:
    """Show the page or the widget with the proposed values, for a frame."""
    proposal, project = _find(access, proposal_id), access.project
    if proposal.kind not in CHANGES:
        raise NotFound(gettext_noop("There is nothing to preview."))
    values = KINDS[proposal.kind].schema.check(proposal.values)
    # Apart from the session, so that nothing of it is stored.
    db.session.expunge(project)
    CHANGES[proposal.kind](project, values)
    g.is_preview = True
    if proposal.kind in ("widget", "design"):
        return _show_widget(project)
    form = preview_form(project, values) if proposal.kind == "form" else None
    shown = describe_form(project, FilledForm("", form=form))
    if picture := shown["project"].get(proposal.kind):
        # The proposed picture has no public address yet.
        picture["url"] = url_for(".get_picture", proposal_id=proposal_id)
    return render_template("collection/page.html", is_preview=True, **shown)


@previews.get("/dashboard/projects/<project_id>/proposals/<proposal_id>/picture")
@require_role(Role.READER)
def get_picture(access: Access, proposal_id: str) -> Response:
    """Return the proposed picture, which only those who decide about it may see."""
    values = _find(access, proposal_id).values
    image_id = values.get("imageId") or values.get("avatarId") or ""
    image = db.session.get(Image, image_id) if is_identifier(image_id) else None
    if image is None:
        raise NotFound(gettext_noop("There is no picture any more."))
    return Response(image.content, content_type=CONTENT_TYPE)


def _find(access: Access, proposal_id: str) -> Proposal:
    proposal = None
    if is_identifier(proposal_id):
        query = select(Proposal).where(
            Proposal.id == proposal_id,
            Proposal.project_id == access.project.id,
        )
        proposal = db.session.scalars(query).one_or_none()
    if proposal is None:
        raise NotFound(gettext_noop("There is no such proposal in this project."))
    if proposal.kind not in kinds_of(access):
        raise RoleTooLow
    return proposal


def _show_widget(project: Project) -> str:
    return render_template(
        "dashboard/editors/widget_preview.html",
        project_id=project.id,
        widget="",
        feed=describe_preview(project, "", read_published(project)),
    )
