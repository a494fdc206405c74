"""What strangers damage is refused in words: no parser breaks by it."""

from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from flask import Flask
from sqlalchemy import delete

from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.rate_limits import RateLimitCounter
from tests.attacks import parsers_of_files, parsers_of_messages, parsers_of_proofs
from tests.attacks.parsing import PARSERS, Attacked, Parser
from tests.auth.billing.test_stripe_webhook import PLANS, SECRET
from tests.conftest import MakeApp, MakeCaller
from tests.support.mutating import mutate
from tests.support.plans import count_statements
from tests.support.sampling import rounds

pytestmark = [pytest.mark.thorough, pytest.mark.postgres]

# Once they are read, the table has what is in them.
READ = (parsers_of_files, parsers_of_messages, parsers_of_proofs)


@pytest.fixture
def attacked(make_app: MakeApp, make_caller: MakeCaller, tmp_path: Path) -> Attacked:
    app = make_app(stripe_webhook_secret=SECRET, plans=PLANS, trusted_proxies=1)
    return Attacked(app, make_caller("owner@example.com", is_claimed=True, on=app), tmp_path)


# What Werkzeug leaves open of a form that ends too early.
@pytest.mark.filterwarnings("ignore:Unclosed file:ResourceWarning")
@pytest.mark.parametrize("name", PARSERS)
def test_damage_is_refused_in_words(attacked, backend, name):
    parser, chance, faults = PARSERS[name](attacked), Random(name), {}
    if backend == "postgresql" and not asks_database(attacked.app, parser):
        # The same damage, read the same, is refused on SQLite.
        return
    for number in range(rounds(500, 20_000)):
        if number % 10 == 0:
            with attacked.app.app_context(), write():
                db.session.execute(delete(RateLimitCounter))
        bad = mutate(parser.samples[number % len(parser.samples)], chance)
        try:
            parser.read(bad)
        except parser.refusals:
            continue
        except Exception as fault:
            faults.setdefault(describe(fault), (fault, bad))
    assert not faults, "\n\n".join(
        f"{what}: {fault!s:.200}\n{bad!r:.500}" for what, (fault, bad) in faults.items()
    )


def asks_database(app: Flask, parser: Parser) -> bool:
    def read() -> None:
        for sample in parser.samples:
            with suppress(*parser.refusals):
                parser.read(sample)

    with app.app_context():
        return count_statements(db.engine, read) > 0


def describe(fault: Exception) -> str:
    at = fault.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = f"{at.tb_frame.f_code.co_filename}:{at.tb_lineno}" if at else ""
    return f"{type(fault).__name__} at {place}"
