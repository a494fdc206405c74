"""Commands about the public record: verifying a downloaded log, and replacing the signing key."""

from pathlib import Path

import click

from testimonials.cli.output import FILE, Group, Output, Record, command
from testimonials.core import clock
from testimonials.core.chain import LogWrong, read_log
from testimonials.testimonials.record_heads import add_up, check_record, rotate_key


@command("verify", needs_app=False)
@FILE
@click.option("--key", help="The public key that must have signed it, as in /record/keys.")
@click.option(
    "--record", type=Path, help="The record.json of a testimonial that must match the log."
)
def verify(file: Path, key: str | None, record: Path | None) -> Output:
    """Verify a downloaded log of a project, without network or database.

    Every entry has the hash of the one before it, and the last line is the head, signed by the
    service. Prints the totals of the entries. Exits with 1 if any byte was changed.
    """
    try:
        log = read_log(file.read_bytes())
        if key not in (None, log.key):
            raise LogWrong(f"Another key signed it: {log.key}.")
        if record is not None:
            check_record(log, record.read_bytes())
    except OSError as error:
        raise click.ClickException(f"{error.filename} can’t be read: {error.strerror}.") from None
    except LogWrong as error:
        return Output({"isWhole": False, "problem": str(error)}, str(error), is_failure=True)
    ratings, average = add_up(log)
    facts = {"project": log.head["project"], "entries": log.head["seq"], "time": log.head["time"]}
    facts |= {"hash": log.head["hash"], "key": log.key, "ratings": ratings, "average": average}
    return Output({"isWhole": True} | facts, facts, ["Every entry is as it was signed."])


@click.group(cls=Group)
def record() -> None:
    """Replace the key that signs the public records."""


@record.command("rotate-key", writes=True)
def rotate_key_command() -> Record:
    """Create a new signing key; signatures of the former keys stay valid."""
    key = rotate_key()
    return {"id": key.id, "key": key.public_key, "createdAt": clock.iso(key.created_at)}
