"""PUT /v1/setup by many at once, and killed half-way."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from flask import Flask

from testimonials.extensions import db
from tests.agents.setup.test_setup import BAKERY, read_sections, set_up
from tests.conftest import Caller
from tests.support.killing import watch_statements
from tests.support.shapes import data_of

pytestmark = pytest.mark.postgres

MANY = 20


def test_many_at_once_make_one_of_everything(app: Flask, agent: Caller) -> None:
    barrier = Barrier(MANY)

    def call(_: int) -> Any:
        client = app.test_client()
        barrier.wait()
        return client.put("/v1/setup", json=BAKERY, headers=agent.headers)

    with ThreadPoolExecutor(MANY) as pool:
        answers = [data_of(each) for each in pool.map(call, range(MANY))]
    assert sum("project" in read_sections(each).get("changed", []) for each in answers) == 1
    (project,) = data_of(agent.get("/v1/projects"))
    rows = data_of(agent.get(f"/v1/projects/{project['_id']}/testimonials"))["items"]
    assert [row["externalId"] for row in rows] == ["b", "a"]
    listed = data_of(agent.get(f"/v1/projects/{project['_id']}/proposals"))["items"]
    assert [each["kind"] for each in listed] == ["design", "page"]


def test_killed_half_way_it_leaves_nothing_and_a_repeat_makes_one(
    app: Flask, agent: Caller
) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            with app.app_context():
                db.engine.dispose(close=False)
            # The project and the proposals are written by then.
            watch_statements("INSERT INTO testimonial ")
            agent.client.put("/v1/setup", json=BAKERY, headers=agent.headers)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    assert data_of(agent.get("/v1/projects")) == []
    set_up(agent, BAKERY)
    assert "changed" not in read_sections(set_up(agent, BAKERY))
    assert len(data_of(agent.get("/v1/projects"))) == 1
