"""The API's doors to what waits: reading it, deciding, undoing; and tags."""

from functools import partial
from typing import Any

from flask import Blueprint, Response

from testimonials.access.callers import Caller
from testimonials.access.guards import require_access
from testimonials.access.scopes import Scope
from testimonials.core.web.endpoint import answer, endpoint
from testimonials.core.web.paging import answer_page
from testimonials.core.web.writes import begin_call, commit_answer
from testimonials.projects.reach import find_project, go_on_writing
from testimonials.proposals.calls import carry_out
from testimonials.proposals.schemas import ReasonQuerySchema
from testimonials.testimonials.moderation.schemas import (
    DecisionSchema,
    DecisionsSchema,
    SubmissionQuerySchema,
    SubmissionSchema,
    TagRemovedSchema,
    TagRenameSchema,
    TagSchema,
    UndoneSchema,
    UndoSchema,
)
from testimonials.testimonials.moderation.submissions import decide_all, require_known
from testimonials.testimonials.moderation.submissions import list_submissions as read_submissions
from testimonials.testimonials.moderation.tags import delete_tag, list_project_tags
from testimonials.testimonials.moderation.tags import rename_tag as change_name
from testimonials.testimonials.moderation.undoing import make_undo_token, undo_batch
from testimonials.widget.content.saved_widgets import replace_tag

moderation = Blueprint("moderation", __name__)

_SUBMISSIONS = SubmissionSchema(many=True)
_TAGS = TagSchema(many=True)
_DECISIONS = DecisionsSchema()


@moderation.get("/v1/projects/<project_id>/submissions")
@require_access(Scope.READ)
@endpoint(data=SubmissionSchema, is_paged=True, query=SubmissionQuerySchema, raises=(404,))
def list_submissions(caller: Caller, project_id: str, query: dict[str, Any]) -> Response:
    """List submissions in any state.

    Pending ones unless ``status`` says otherwise, newest first.
    """
    project = find_project(caller, project_id)
    return answer_page(_SUBMISSIONS, read_submissions(project, query))


@moderation.post("/v1/projects/<project_id>/submissions/decisions")
@require_access(Scope.PUBLISH, drafts=True)
@endpoint(
    data=DecisionsSchema,
    body=DecisionSchema,
    query=ReasonQuerySchema,
    raises=(404, 409),
    example={"decision": "approve", "ids": ["6a12d3b4c5f6a7b8c9d0e1f2"]},
)
def decide_submissions(
    caller: Caller, project_id: str, body: dict[str, Any], query: dict[str, Any]
) -> Response:
    """Decide about testimonials.

    ``release`` takes one out of spam, ``delete`` moves it to the trash. Each is
    answered in order; one whose state doesn't allow it stays as it is and stops no other. Where a
    project asks for captions, a recording without is not approved; 409 if that is all that hinders.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    if caller.drafts_only:
        require_known(project, body["ids"])
        return carry_out(caller, project, "testimonial.decide", body, **query)
    data = decide_all(project, body["decision"], body["ids"], caller.label)
    said = "Decided" if data["undo"] else "Nothing to change"
    return commit_answer(said, _DECISIONS.dump(data))


@moderation.post("/v1/projects/<project_id>/undo")
@require_access(Scope.PUBLISH)
@endpoint(
    data=UndoneSchema,
    body=UndoSchema,
    raises=(404, 409),
    example={"undo": "WyI2YTEyZDNi..."},
)
def undo_changes(caller: Caller, project_id: str, body: dict[str, str]) -> Response:
    """Undo a change of testimonials.

    ``undo`` is what the answer to the change gave. It puts back what was before where nothing has
    changed since, within a day.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    go_on = partial(go_on_writing, caller, project_id)
    count = undo_batch(project, body["undo"], caller.label, go_on).count
    return commit_answer("Undone", {"undoneCount": count})


@moderation.get("/v1/projects/<project_id>/tags")
@require_access(Scope.READ)
@endpoint(data=TagSchema, many=True, raises=(404,))
def list_tags(caller: Caller, project_id: str) -> Response:
    """List tags.

    In alphabetical order, each with how many testimonials have it, without the trash.
    """
    return answer("OK", _TAGS.dump(list_project_tags(find_project(caller, project_id).id)))


@moderation.patch("/v1/projects/<project_id>/tags/<path:tag>")
@require_access(Scope.PUBLISH)
@endpoint(data=TagSchema, body=TagRenameSchema, raises=(404, 422), example={"name": "case study"})
def rename_tag(caller: Caller, project_id: str, tag: str, body: dict[str, str]) -> Response:
    """Rename a tag.

    On all testimonials, and in the widgets that select by it. If there is a tag of the new name
    already, the two become one.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    go_on = partial(go_on_writing, caller, project_id)
    old, name, count = change_name(project, tag, body["name"], caller.label, go_on)
    replace_tag(project, old, name)
    return commit_answer("Tag renamed", {"name": name, "count": count})


@moderation.delete("/v1/projects/<project_id>/tags/<path:tag>")
@require_access(Scope.PUBLISH)
@endpoint(data=TagRemovedSchema, raises=(404,))
def remove_tag(caller: Caller, project_id: str, tag: str) -> Response:
    """Remove a tag from all testimonials.

    ``undo`` brings it back for a day. Widgets that select by it show nothing until it is used
    again.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    name, batch, count = delete_tag(
        project, tag, caller.label, partial(go_on_writing, caller, project_id)
    )
    undo = make_undo_token(project, batch) if count else None
    return commit_answer("Tag removed", {"name": name, "count": count, "undo": undo})
