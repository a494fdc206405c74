"""The record of processing names every table and column."""

import pytest
from flask import Flask
from sqlalchemy import Table

from testimonials.core.data.database import Base
from testimonials.privacy.processed import TABLES, Processed
from testimonials.privacy.record import is_structural
from tests.conftest import MakeApp
from tests.transfer.archives.projects import run_well


def find_tables() -> dict[str, Table]:
    return dict(Base.metadata.tables)


def test_every_table_is_classified(app: Flask) -> None:
    assert find_tables().keys() == TABLES.keys(), "Say in privacy/processed.py what it holds."


@pytest.mark.parametrize("name", TABLES)
def test_every_column_is_classified(app: Flask, name: str) -> None:
    """A new one has to be named as personal, or as not."""
    each = TABLES[name]
    personal = each.personal.split() if isinstance(each, Processed) else []
    named = [*personal, *each.others.split()]
    assert len(named) == len(set(named))
    columns = {column.name for column in find_tables()[name].columns}
    assert set(named) <= columns, "It names columns that are gone."
    assert {column for column in columns if not is_structural(column)} <= set(named)


def test_the_record_has_the_instance_s_own_days(make_app: MakeApp) -> None:
    app = make_app(trash_days=3, rejected_days=0, smtp_url="smtp://user:password@mail.example:25")
    said = run_well(app, "privacy", "record")
    assert "`TRASH_DAYS` (3 days) in the trash" in said
    assert "rejected `REJECTED_DAYS` (0: kept)" in said
    assert "- the mail server: every mail: set" in said
    assert "password@" not in said
