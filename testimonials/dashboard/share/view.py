"""The Share page's message to customers, and where the widget was last seen."""

import re
from typing import Any
from urllib.parse import quote

from testimonials.core.urls import collection_page_url
from testimonials.core.web.fields import Text
from testimonials.core.web.forms import FormSchema
from testimonials.core.web.languages import gettext as _
from testimonials.dashboard.describe import describe_age
from testimonials.projects.configuration.dashboard_config import MESSAGE_LENGTH, SHARE_MESSAGE
from testimonials.projects.models import Project
from testimonials.widget.sightings import find_newest_sighting

# The placeholder for the link in a stored message, which follows the page to a new address.
LINK = "{link}"


class MessageForm(FormSchema):
    """The message to customers; empty for the suggested one."""

    message = Text(MESSAGE_LENGTH, load_default="")


def describe_sighting(project: Project) -> dict[str, Any] | None:
    """Return where and when the widget was last seen, None if nowhere."""
    found = find_newest_sighting(project.id)
    if found is None:
        return None
    origin, time = found
    label = describe_age(time)
    is_date = label[0].isdigit() and not label.endswith("ago")
    return {
        "host": origin.partition("://")[2],
        "label": _("on %(day)s", day=label) if is_date else label.lower(),
        "time": time,
    }


def default_message(project: Project) -> str:
    name = project.business_name or "us"
    return (
        f"Hi! Thank you for choosing {name}. If you have a minute, two honest sentences about how "
        f"it was would help us a lot:\n{LINK}"
    )


def message_of(project: Project) -> str:
    """Return the project's message to customers, or the suggested one, with the link filled in."""
    stored = project.dashboard_config.get(SHARE_MESSAGE) or default_message(project)
    return str(stored).replace(LINK, collection_page_url(project.slug, project.own_host))


def has_own_message(project: Project) -> bool:
    return bool(project.dashboard_config.get(SHARE_MESSAGE))


def set_message(project: Project, text: str) -> None:
    """Store the message in the locked project, unless it is empty or the suggested one."""
    config = dict(project.dashboard_config)
    config.pop(SHARE_MESSAGE, None)
    # A longer address that starts the same way is another page's.
    stored = re.sub(
        rf"{re.escape(collection_page_url(project.slug, project.own_host))}(?![\w/-])", LINK, text
    )
    if stored and stored != default_message(project):
        config[SHARE_MESSAGE] = stored
    project.dashboard_config = config


def describe_mail(project: Project, message: str) -> dict[str, str]:
    """Return the subject of a mail with the message, and its `mailto:` link."""
    subject = f"A few words about {project.business_name or 'your visit'}?"
    # RFC 6068 asks for CRLF.
    body = quote(message.replace("\n", "\r\n"), safe="")
    return {"subject": subject, "url": f"mailto:?subject={quote(subject, safe='')}&body={body}"}
