"""What the largest of each kind of input costs: in proportion, and never much.

Processor time is compared with that for a quarter of the size; the docs name each with its size.
"""

import json
import re
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from flask import Flask

from testimonials.core.extensions import db, limiter
from tests.attacks.conftest import restore
from tests.attacks.world import SLUG, World
from tests.auth.browsers import COOKIE
from tests.auth.links import ORIGIN
from tests.support.largest_inputs import TAKEN, Place, Sent, draw_words, list_inputs
from tests.support.rows import change_testimonial
from tests.support.sampling import mostly_thorough

# Four times as much may cost six times as much. A thousandth of a second is nobody's loss.
MOST_GROWTH, MOST_SECONDS, LEAST_SECONDS = 6.0, 0.5, 0.002
# So many times what the documents tell: on a busy machine the same work takes longer.
MOST_TIMES = 4
TABLE = Path(__file__).parents[2] / "docs" / "security.md"
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([\d,]+) ms \| ([\d,]+) ms \|$", re.M)
INPUTS = {each.name: each for each in list_inputs()}
PLAIN = ("the words of a testimonial", "the words of a proposal", "a CSV file: a cell")
FILES = [name for name, each in INPUTS.items() if each.is_file]


def measure(work: Callable[[], object], times: int) -> float:
    """Return the processor time that something takes; whatever else happens only adds to it."""

    def once() -> float:
        begin = time.process_time()
        work()
        return time.process_time() - begin

    return min(once() for _ in range(times))


@cache
def speed() -> float:
    """Return how much slower this machine is than the one whose figures the docs have; or 1."""
    text = json.dumps([{"text": "Good bread. " * 20, "stars": 5}] * 16_000)
    return max(1.0, measure(lambda: json.dumps(json.loads(text)), 5) / 0.02)


def send(app: Flask, sent: Sent) -> int:
    with app.app_context():
        limiter.storage.reset()
    client = app.test_client(use_cookies=False)
    headers = {"Origin": ORIGIN} | sent.headers
    with client.open(
        sent.path, base_url=ORIGIN, method=sent.method, headers=headers, data=sent.body
    ) as answer:
        if "/imports/" in answer.headers.get("Location", ""):
            # A file is read for its preview.
            shown = Sent("GET", answer.headers["Location"], headers=sent.headers)
            return send(app, shown)
        return answer.status_code


@pytest.fixture
def place(app: Flask, world: World) -> Place:
    session = {"Cookie": f"{COOKIE}={world.cookies['owner']}"}
    project, testimonial = world.ids["project_id"], world.ids["testimonial_id"]
    change_testimonial(app, testimonial, text=draw_words(0, 2000))
    with app.app_context():
        db.session.execute(db.text("PRAGMA wal_checkpoint(TRUNCATE)"))
    return Place(project, SLUG, testimonial, world.keys["owner"], session)


def test_the_documents_name_each_input_with_its_size():
    rows = ROW.findall(TABLE.read_text())
    assert [(name, most) for name, most, *_ in rows] == [
        (each.name, each.most) for each in INPUTS.values()
    ]
    for name, _, cost, hold in rows:
        assert int(cost.replace(",", "")) <= 500 or name in FILES
        assert int(hold) <= 50


@pytest.mark.parametrize("name", mostly_thorough(INPUTS, *PLAIN))
def test_an_input_at_its_limit_costs_in_proportion(app, place, instance, name):
    each, made = INPUTS[name], (instance / "testimonials.db").read_bytes()

    def cost(size: int, times: int) -> float:
        if each.before is not None:
            restore(app, instance, made)
            assert send(app, each.before(place, size)) == 200
        sent = each.make(place, size)
        status = send(app, sent)
        assert status in TAKEN, status
        return measure(lambda: send(app, sent), times)

    whole = cost(each.size, 3)
    (told,) = (row[2] for row in ROW.findall(TABLE.read_text()) if row[0] == name)
    most = MOST_TIMES * int(told.replace(",", "")) / 1000
    assert whole <= speed() * (most if each.is_file else min(most, MOST_SECONDS))
    if whole > LEAST_SECONDS * speed():
        assert whole <= MOST_GROWTH * cost(each.size // 4, 5)
