"""Commands about the public record: checking a downloaded log, and the key that signs."""

from pathlib import Path

import click

from testimonials.cli.output import FILE, Group, Record, Said, command
from testimonials.core import clock
from testimonials.core.chain import LogWrong, read_log
from testimonials.testimonials.record_heads import add_up, check_record, rotate_key

# `testimonials verify`, for whoever has a log and no service.


@command("verify", needs_app=False)
@FILE
@click.option("--key", help="The public key that must have signed it, as /record/keys names it.")
@click.option(
    "--record", type=Path, help="The record.json of a testimonial that it must agree with."
)
def verify(file: Path, key: str | None, record: Path | None) -> Said:
    """Check the log of a project that was downloaded, without network or database.

    Every entry has the hash of the one before it, and the last line is the head, signed by the
    service. Says what the entries add up to. Exits with 1 if a byte of it was changed.
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
        return Said({"isWhole": False, "problem": str(error)}, str(error), is_failure=True)
    ratings, average = add_up(log)
    told = {"project": log.head["project"], "entries": log.head["seq"], "time": log.head["time"]}
    told |= {"hash": log.head["hash"], "key": log.key, "ratings": ratings, "average": average}
    return Said({"isWhole": True} | told, told, ["Every entry is as it was signed."])


@click.group(cls=Group)
def record() -> None:
    """Change the key that signs the public records."""


@record.command("rotate-key", writes=True)
def rotate_key_command() -> Record:
    """Make the key that signs from now on; what the former ones signed stays valid."""
    key = rotate_key()
    return {"id": key.id, "key": key.public_key, "createdAt": clock.iso(key.created_at)}
