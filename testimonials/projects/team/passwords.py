"""Passwords of people whose projects are known."""

from collections.abc import Iterable

from flask import current_app

from testimonials.core.passwords import find_password_problem
from testimonials.projects.models import Project


def judge_password(password: str, email: str, projects: Iterable[Project]) -> str | None:
    """Return what is wrong with a new password of somebody in these projects, or None."""
    names = ["testimonials", current_app.config["APP_URL"], current_app.config["BASE_URL"]]
    for project in projects:
        names += [project.name, project.slug, project.page_config["website"]]
    return find_password_problem(password, email, names)
