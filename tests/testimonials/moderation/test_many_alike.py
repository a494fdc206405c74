"""Many testimonials that change alike: written at once, as they would be one by one."""

from typing import Any

import pytest
from flask import Flask

from testimonials.access.scopes import Scope
from testimonials.testimonials.moderation import changes
from tests.access.tokens import give_token
from tests.conftest import Caller
from tests.support.rows import add_testimonial, read_testimonials


def states(app: Flask, project_id: str) -> list[tuple[Any, ...]]:
    rows = read_testimonials(app, project_id)
    return sorted((row.id, row.status, row.is_pinned, row.reviewed_at is None) for row in rows)


@pytest.mark.parametrize("many", [2, 1_000])
def test_decisions_about_many_are_written_and_undone(
    app: Flask, owner: Caller, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(changes, "MANY", many)
    monkeypatch.setattr(changes, "CHUNK", 2)
    project_id = str(owner.create_project()["_id"])
    caller = give_token(app, owner, Scope.PUBLISH)
    for _ in range(5):
        add_testimonial(app, project_id, status="pending", reviewed_at=None)
    add_testimonial(app, project_id, status="rejected")
    before, times = states(app, project_id), read_testimonials(app, project_id)
    path = f"/v1/projects/{project_id}"
    body = {"decision": "approve", "ids": [row.id for row in times]}
    answer: Any = caller.post(f"{path}/submissions/decisions", body).json
    done = answer["data"]
    after = read_testimonials(app, project_id)
    assert {row.status for row in after} == {"approved"}
    assert all(row.is_visible and row.reviewed_at for row in after)
    was = {row.id: row.updated_at for row in times}
    assert all(row.updated_at > was[row.id] for row in after)
    assert caller.post(f"{path}/undo", {"undo": done["undo"]}).status_code == 200
    assert states(app, project_id) == before
    assert caller.post(f"{path}/undo", {"undo": done["undo"]}).status_code == 409
