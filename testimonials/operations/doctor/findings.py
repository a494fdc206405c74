"""What `testimonials doctor` finds: each with what to do about it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import click
from sqlalchemy.exc import SQLAlchemyError

from testimonials.core.logs.scrubbing import scrub
from testimonials.extensions import db


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be, and what to do; neither holds a secret.

    A note is no fault, and says what was not looked at.
    """

    problem: str
    advice: str
    is_note: bool = False


NO_SCHEMA = Finding(
    "Not looked at, since the database is not as this program needs it.",
    "Do what is said above, then run this again.",
)
Check = Callable[[], Iterator[Finding]]


def run_check(check: Check) -> list[Finding]:
    """Return what a check finds; one that can't look finds that."""
    try:
        return list(check())
    except (SQLAlchemyError, click.ClickException) as error:
        reason = getattr(error, "orig", None) or error
        words = scrub(" ".join(str(reason).split()))[:300]
        return [Finding(f"The database can't be asked: {words}", "Mend what the database says.")]
    except OSError as error:
        words = f"{error.strerror or error} ({error.filename or 'no file'})"
        return [Finding(f"This can't be looked at: {words}", "Run it as the service's own user.")]
    finally:
        db.session.rollback()
