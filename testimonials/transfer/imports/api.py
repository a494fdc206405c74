"""The API's doors to imports: looking at them, and undoing one."""

from functools import partial
from typing import Any

from flask import Blueprint, Response

from testimonials.access.callers import Caller
from testimonials.access.guards import require_access
from testimonials.access.scopes import Scope
from testimonials.core.web.endpoint import answer, endpoint
from testimonials.core.web.writes import begin_call, commit_answer
from testimonials.projects.reach import find_project, go_on_writing
from testimonials.transfer.imports.drafts import find_import
from testimonials.transfer.imports.drafts import list_imports as list_newest
from testimonials.transfer.imports.schemas import (
    ImportSchema,
    UndoImportSchema,
    UndoneImportSchema,
)
from testimonials.transfer.imports.undoing import undo_import as take_back

imports = Blueprint("imports", __name__)

_IMPORTS = ImportSchema(many=True)


@imports.get("/v1/projects/<project_id>/imports")
@require_access(Scope.READ)
@endpoint(data=ImportSchema, many=True, raises=(404,))
def list_imports(caller: Caller, project_id: str) -> Response:
    """List imports of files.

    The newest 20, with how far each is.
    """
    return answer("OK", _IMPORTS.dump(list_newest(find_project(caller, project_id).id)))


@imports.post("/v1/projects/<project_id>/imports/<import_id>/undo")
@require_access(Scope.PUBLISH)
@endpoint(
    data=UndoneImportSchema,
    body=UndoImportSchema,
    raises=(404, 409),
    example={"alsoChanged": False},
)
def undo_import(caller: Caller, project_id: str, import_id: str, body: dict[str, Any]) -> Response:
    """Undo an import.

    What it added goes to the trash. What somebody has edited, replied to or
    decided since stays, unless ``alsoChanged``.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    row = find_import(project.id, import_id, for_update=True)
    go_on = partial(go_on_writing, caller, project_id)
    undone = take_back(project, row, caller.label, go_on, also_changed=body["alsoChanged"])
    return commit_answer("Undone", UndoneImportSchema().dump(undone))
