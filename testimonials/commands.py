"""The admin commands; the `testimonials` command and `flask` offer the same ones (`AdminGroup`)."""

import click

from testimonials.access.cli import tokens
from testimonials.activity.cli import activity
from testimonials.auth.cli import accounts
from testimonials.auth.company.cli import unlink_company
from testimonials.collection.authors.cli import authors
from testimonials.collection.forms.cli import forms
from testimonials.domains.cli import domains
from testimonials.insights.cli import show_insights
from testimonials.media.cli import recordings
from testimonials.operations.backup.cli import backup, restore
from testimonials.operations.config_cli import config
from testimonials.operations.database.cli import db
from testimonials.operations.doctor.cli import doctor
from testimonials.operations.mail_cli import mail
from testimonials.operations.prune_cli import prune
from testimonials.operator.accounts_cli import restore as restore_account
from testimonials.operator.accounts_cli import suspend as suspend_account
from testimonials.operator.reports.cli import reports
from testimonials.privacy.cli import privacy
from testimonials.projects.cli import projects
from testimonials.projects.team.cli import team
from testimonials.proposals.cli import proposals
from testimonials.testimonials.cli import testimonials
from testimonials.transfer.archives.cli import export_account, export_project, import_project
from testimonials.transfer.imports.testimonials_cli import (
    import_testimonials,
    list_imports,
    undo,
)
from testimonials.webhooks.cli import webhooks

# These have several features' data, so a later feature defines them.
accounts.add_command(unlink_company)
accounts.add_command(export_account)
accounts.add_command(suspend_account)
accounts.add_command(restore_account)
projects.add_command(export_project)
projects.add_command(import_project)
projects.add_command(show_insights)
testimonials.add_command(import_testimonials)
testimonials.add_command(list_imports)
testimonials.add_command(undo)

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
