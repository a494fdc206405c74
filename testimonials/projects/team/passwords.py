"""Passwords of people whose projects are known."""

from collections.abc import Iterable

from testimonials.core.passwords import find_password_problem
from testimonials.core.urls import app_url, base_url
from testimonials.projects.models import Project


def judge_password(password: str, email: str, projects: Iterable[Project]) -> str | None:
    """Return what is wrong with a new password of somebody in these projects, or None."""
    names = ["testimonials", app_url(), base_url()]
    for project in projects:
        names += [project.name, project.slug, project.page_config["website"]]
    return find_password_problem(password, email, names)
