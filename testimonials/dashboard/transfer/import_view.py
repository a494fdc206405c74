"""How far an import is and what came of it, in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from testimonials.core.web.languages import format_figure, gettext_noop, translate
from testimonials.core.web.languages import gettext as _
from testimonials.testimonials.models import Testimonial
from testimonials.transfer.imports.drafts import DONE, RUNNING, STOPPED, UNDONE
from testimonials.transfer.imports.undoing import count_here, list_changed, list_here
from testimonials.transfer.models import TableImport

LABELS = {
    RUNNING: gettext_noop("Importing"),
    STOPPED: gettext_noop("Stopped"),
    DONE: gettext_noop("Imported"),
    UNDONE: gettext_noop("Undone"),
}


@dataclass(frozen=True)
class Result:
    """What is still here of an import, and which of it somebody has changed."""

    here: int
    changed: Sequence[Testimonial]


def describe_progress(row: TableImport) -> dict[str, Any]:
    """Return how far an import is, for the page and its script."""
    is_copying = row.photos_to is not None and row.photos > 0
    done, total = (row.photos_done, row.photos) if is_copying else (row.done, row.total)
    counted = {"done": format_figure(done), "total": format_figure(total)}
    if is_copying:
        text = _("%(done)s of %(total)s photos copied", **counted)
    elif row.done:
        text = _("%(done)s of %(total)s imported", **counted)
    else:
        text = _("Reading the file…")
    return {
        "state": row.state,
        "label": translate(LABELS.get(row.state, "")),
        "done": done,
        "total": total,
        "text": text,
    }


def describe_result(row: TableImport) -> Result:
    # After undoing, all that is here was kept.
    return Result(count_here(row), (list_here if row.undone_at else list_changed)(row))
