"""A process with very many open connections is still told of changes."""

import os

import pytest
from flask import Flask

from testimonials.extensions import db
from testimonials.widget.memory.told import EXTENSION, ToldVersions
from tests.conftest import Caller
from tests.support.plans import count_statements
from tests.support.servers import wait_for


@pytest.mark.postgres
def test_versions_are_told_above_the_thousandth_descriptor(app: Flask, owner: Caller) -> None:
    if EXTENSION not in app.extensions:
        pytest.skip("SQLite is asked for each version")
    project = owner.create_project(businessName="Kiln & Clay")["_id"]
    with app.app_context():
        engine = db.engine
    versions = ToldVersions(stale_seconds=0)
    held = [os.dup(0) for _ in range(1100)]
    try:
        versions.begin(engine)
        # From memory, once it is told.
        wait_for(lambda: count_statements(engine, lambda: versions.find(project)) == 0)
        before = versions.find(project)
        owner.create_testimonial(project, text="The second")
        wait_for(lambda: versions.find(project) != before)
    finally:
        versions.end()
        for each in held:
            os.close(each)
