"""What a setup answers."""

from typing import Any

from testimonials.agents.setup.steps import Steps
from testimonials.auth.models import Account
from testimonials.core.urls import collection_page_url, project_url, wall_url, widget_page_url
from testimonials.extensions import db
from testimonials.widget.snippet import build_snippet


def summarise(steps: Steps) -> str:
    """Return the answer's message."""
    counts = {
        "changed": steps.changed,
        "already so": steps.already,
        "waiting for the owner": steps.proposed,
        "refused": steps.refused,
    }
    return ", ".join(f"{len(each)} {name}" for name, each in counts.items() if each) + "."


def describe_setup(steps: Steps) -> dict[str, Any]:
    """Return what `SetupResultSchema` dumps."""
    project = steps.project
    account = db.session.get_one(Account, project.account_id)
    return {
        "project": project,
        "changed": steps.changed,
        "already": steps.already,
        "proposed": steps.proposed,
        "refused": steps.refused,
        "snippet": build_snippet(project),
        "links": {
            "collectionPage": collection_page_url(project.slug, project.own_host),
            "wall": wall_url(project.slug, project.own_host),
            "widgetPage": widget_page_url(project.id),
            "dashboard": project_url(project.id, "inbox"),
            "proposals": project_url(project.id, "proposals"),
        },
        "claim": {
            "isClaimed": account.is_claimed,
            "expiresAt": None if account.is_claimed else account.claim_expires_at,
        },
    }
