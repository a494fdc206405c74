"""What an account's plan allows: how many projects, and whether they name the service."""

from sqlalchemy import func, select

from testimonials.auth.billing.services import find_plan
from testimonials.auth.models import Account
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext_noop
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.settings.current import current_settings


class ProjectLimitReached(ServiceError):
    status = 402
    code = "PROJECT_LIMIT_REACHED"
    meaning = "The account is at its limit of projects."
    remedy = "Ask the owner to delete one or to get more; `message` says where."


def count_projects(account_id: str) -> int:
    """Return how many projects the account has, including paused ones."""
    query = select(func.count(Project.id)).where(
        Project.account_id == account_id, Project.deleted_at.is_(None)
    )
    return int(db.session.scalar(query) or 0)


def require_room(account: Account) -> None:
    """Raise `ProjectLimitReached` if the locked account can have no more projects."""
    limit = project_limit_of(account)
    if count_projects(account.id) >= limit:
        url = more_projects_url(account.id)
        raise ProjectLimitReached(
            gettext_noop(
                "This account is at its limit of %(limit)s projects. Delete one in the dashboard, "
                "or get more here: %(url)s"
            )
            if url
            else gettext_noop(
                "This account is at its limit of %(limit)s projects. Delete one in the dashboard, "
                "or ask the operator of this service for more."
            ),
            values={"limit": limit, "url": url},
        )


def project_limit_of(account: Account) -> int:
    """Return how many projects the account may have.

    A limit that the operator set for the account comes first, then its plan, then the setting.
    """
    if account.project_limit is not None:
        return account.project_limit
    plan = find_plan(account.plan)
    default = current_settings().project_limit
    return default if plan is None else plan.projects


def more_projects_url(account_id: str) -> str | None:
    """Return the URL where the account can get more projects, if the operator set one."""
    url = current_settings().more_projects_url
    return url.replace("{account}", account_id) or None


def names_service(project: Project) -> bool:
    """Return whether mail to the project's visitors and customers says which service sends it."""
    if not any(plan.is_unbranded for plan in current_settings().plans):
        return True
    plan = find_plan(
        db.session.scalar(select(Account.plan).where(Account.id == project.account_id))
    )
    return plan is None or not plan.is_unbranded
