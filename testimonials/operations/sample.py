"""The sample account and project that `serve --sample` creates."""

import json
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import select

from testimonials.auth.accounts import is_live, renew_agent_nonce, start_account
from testimonials.auth.magic_links import make_claim_link
from testimonials.auth.models import Account
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.urls import agent_guide_url, collection_page_url, widget_page_url
from testimonials.projects.models import Project
from testimonials.projects.projects import create_project, list_projects
from testimonials.testimonials.testimonials import add_approved_testimonial
from testimonials.widget.settings import update_widget_config

EMAIL = "rosa@example.com"
# The project, and its testimonials, newest first.
SALON = json.loads(Path(__file__).with_name("salon.json").read_text(encoding="utf-8"))


class Sample(NamedTuple):
    """The URLs of the sample; `claim_link` is None once its account is claimed."""

    widget_page: str
    collection_page: str
    claim_link: str | None
    agent_docs: str


def prepare_sample() -> Sample:
    """Create the sample if there is none; return its URLs, with a new claim link each time."""
    with write():
        query = select(Account).where(Account.email == EMAIL, is_live())
        account, nonce = db.session.scalars(query).one_or_none(), None
        if account is None and (access := start_account(EMAIL)) is not None:
            account, nonce = access.account, access.claim_nonce
        elif account is not None and not account.is_claimed:
            nonce = renew_agent_nonce(account)
        assert account is not None  # noqa: S101 - set by one of the two branches
        existing = list_projects(account.id)
        project = existing[0] if existing else _create_project(account)
    return Sample(
        widget_page_url(project.id),
        collection_page_url(project.slug, project.own_host),
        make_claim_link(account, nonce) if nonce else None,
        agent_guide_url(),
    )


def _create_project(account: Account) -> Project:
    project = create_project(account.id, SALON["project"], finds_slug=True)
    for values in reversed(SALON["testimonials"]):
        add_approved_testimonial(project, dict(values))
    update_widget_config(project, {"palette": "emerald"})
    return project
