"""`docs/privacy.md` says of every table what it holds about people, or that it holds nothing."""

import re
from pathlib import Path

from flask import Flask

from testimonials.core.data.database import Base
from testimonials.settings.table import Settings

TEXT = (Path(__file__).parents[2] / "docs/privacy.md").read_text(encoding="utf-8")


def test_every_table_is_named(app: Flask) -> None:
    """A new one can't be forgotten where people ask what is kept about them."""
    named = re.findall(r"`([a-z_]+)`", TEXT)
    assert sorted(named) == sorted(Base.metadata.tables)


def test_its_settings_exist() -> None:
    named = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)`", TEXT))
    assert named <= {name.upper() for name in Settings.__dataclass_fields__}
    days = {name.upper() for name in Settings.__dataclass_fields__ if name.endswith("_days")}
    # Of numbers, and of proofs and backups.
    assert days - named <= {"INSIGHT_DAYS", "BACKUP_VERIFY_DAYS"}
