"""The record of processing: what this program holds about people, as a document."""

from typing import Any

from testimonials.privacy.processed import TABLES, Processed
from testimonials.settings.table import Settings

HEAD = ("Table", "What is personal in it", "Purpose", "Whose", "Kept", "Who else gets it")
# To whom data leaves this machine, if the setting isn't empty.
RECIPIENTS = {
    "smtp_url": "the mail server: every mail",
    "backup_to": "copies of backups: everything",
    "publish_to": "a static host: what is public",
    "sentry_dsn": "error reports: no personal data, as far as it can be removed",
    "oidc_issuer": "the company’s sign-in: who signs in",
    "stripe_webhook_secret": "Stripe, which calls this service: who pays",
    "ratelimit_storage_url": "Redis: counters by IP address",
}


def is_structural(column: str) -> bool:
    """Tell whether a column is an id, a time or a yes or no, which say nothing by themselves."""
    return column == "id" or column.endswith(("_id", "_at")) or column.startswith(("is_", "has_"))


def list_processed(settings: Settings) -> list[dict[str, Any]]:
    """Return each table with personal data, with the days that the settings say."""
    shown = {name: _write_days(name, settings) for name in _list_days()}
    return [
        {
            "table": name,
            "columns": each.personal.split(),
            "purpose": each.purpose,
            "whose": each.whose,
            "kept": each.kept.format_map(shown),
            "recipients": list(each.goes),
        }
        for name, each in TABLES.items()
        if isinstance(each, Processed)
    ]


def render_record(settings: Settings) -> str:
    """Return the record as Markdown."""
    rows = [
        (
            f"`{each['table']}`",
            ", ".join(f"`{name}`" for name in each["columns"]),
            each["purpose"],
            each["whose"],
            each["kept"],
            ", ".join(each["recipients"]) or "nobody",
        )
        for each in list_processed(settings)
    ]
    lines = [HEAD, ["---"] * len(HEAD), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    others = ", ".join(
        f"`{name}`" for name, each in TABLES.items() if not isinstance(each, Processed)
    )
    return (
        f"{table}\n\nBackups hold all of it, for as long as they are kept. These tables hold "
        f"nothing about people: {others}."
    )


def list_recipients(settings: Settings) -> dict[str, bool]:
    """Return who gets data outside of this machine, and whether the settings name one."""
    return {words: bool(getattr(settings, name)) for name, words in RECIPIENTS.items()}


def _list_days() -> list[str]:
    return [name for name in Settings.__dataclass_fields__ if name.endswith("_days")]


def _write_days(name: str, settings: Settings) -> str:
    days = getattr(settings, name)
    return f"`{name.upper()}` ({f'{days:g} days' if days else '0: kept'})"
