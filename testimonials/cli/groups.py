"""The admin commands; `testimonials` and `flask` offer the same ones (`application.AdminGroup`)."""

import click

from testimonials.cli.accounts import accounts, tokens
from testimonials.cli.backup import backup, restore
from testimonials.cli.database import config, db, doctor, prune
from testimonials.cli.delivery import mail, recordings, webhooks
from testimonials.cli.people import activity, authors, privacy, reports
from testimonials.cli.projects import domains, projects, team
from testimonials.cli.testimonials import forms, proposals, testimonials

GROUPS: tuple[click.Group, ...] = (
    accounts,
    tokens,
    projects,
    team,
    domains,
    testimonials,
    recordings,
    forms,
    proposals,
    authors,
    privacy,
    activity,
    webhooks,
    mail,
    backup,
    reports,
    db,
    config,
)
# Commands outside any group.
COMMANDS: tuple[click.Command, ...] = (restore, prune, doctor)
