"""The summary of a person's projects in mails and on the claim page."""

from testimonials.auth.emails import ProjectSummary
from testimonials.core.urls import collection_page_url, widget_page_url
from testimonials.projects.services import list_projects
from testimonials.testimonials.services import count_by_project


def summarize_projects(account_id: str) -> list[ProjectSummary]:
    """Return a summary of each of the account's projects, most recent first."""
    summaries = []
    projects = list_projects(account_id)
    by_project = count_by_project(project.id for project in projects)
    for project in projects:
        counts = by_project[project.id]
        counts.pop("spam", None)
        summaries.append(
            ProjectSummary(
                name=project.name,
                slug=project.slug,
                page_url=collection_page_url(project.slug),
                widget_url=widget_page_url(project.id),
                testimonial_count=sum(counts.values()) - counts.get("demo", 0),
                sample_count=counts.get("demo", 0),
            )
        )
    return summaries
