"""The forms of webhook endpoints: where to, what about, and since when again."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from werkzeug.datastructures import MultiDict

from testimonials.core.data.identifiers import new_identifier
from testimonials.core.web.fields import WebUrl
from testimonials.core.web.forms import FormSchema
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import gettext_noop
from testimonials.dashboard.forms import Errors
from testimonials.webhooks import events
from testimonials.webhooks.models import WebhookEndpoint
from testimonials.webhooks.schemas import URL_LENGTH

# What each event means, by its name.
EVENTS = {
    events.SUBMITTED: gettext_noop("Somebody sent a testimonial"),
    events.APPROVED: gettext_noop("One was approved, or added as approved"),
    events.REJECTED: gettext_noop("One was rejected"),
    events.UPDATED: gettext_noop("One was changed, pinned, tagged or answered"),
    events.DELETED: gettext_noop("One was deleted"),
    events.WITHDRAWN: gettext_noop("Its author withdrew one"),
    events.ANSWERED: gettext_noop("Somebody whom you asked by mail wrote one"),
    events.DECIDED: gettext_noop("You accepted or declined a proposal"),
    events.PROJECT_UPDATED: gettext_noop("The page, the widget or the settings changed"),
}


class EndpointFormSchema(FormSchema):
    url = WebUrl(
        URL_LENGTH,
        required=True,
        error_messages={"required": gettext_noop("Write the address that we should call.")},
    )


@dataclass
class EndpointForm:
    url: str = ""
    chosen: list[str] = field(default_factory=lambda: list(EVENTS))
    errors: Errors = field(default_factory=dict)

    @property
    def values(self) -> dict[str, Any]:
        """What `add_endpoint` and `change_endpoint` take; all events are also those to come."""
        return {"url": self.url, "events": [] if len(self.chosen) == len(EVENTS) else self.chosen}

    def describe(self) -> dict[str, Any]:
        return {
            "form": self,
            "errors": self.errors,
            "all_events": EVENTS,
            "once": new_identifier(),
        }


def to_form(endpoint: WebhookEndpoint) -> EndpointForm:
    return EndpointForm(endpoint.url, endpoint.events or list(EVENTS))


def read_endpoint_form(sent: MultiDict[str, str]) -> EndpointForm:
    read = EndpointFormSchema().read(sent)
    form = EndpointForm(read.values.get("url") or read.typed["url"], errors=dict(read.errors))
    form.chosen = [name for name in EVENTS if name in sent.getlist("events")]
    if not form.chosen:
        form.errors["events"] = [_("Choose at least one thing to hear of.")]
    return form


def read_since(text: str) -> datetime | None:
    """Return the time that a browser's field for one has, in UTC; None for anything else."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else None
