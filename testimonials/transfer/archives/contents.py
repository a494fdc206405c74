"""What an archive of a project holds: each column of each table, or why it isn't in there.

A test compares this with the models, so that a column that is added later is decided on here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from marshmallow import ValidationError

from testimonials.collection.models import Invitation, InvitationBatch
from testimonials.collection.requests.asking import MESSAGE_LENGTH
from testimonials.collection.requests.request_mail import SUBJECT_LENGTH
from testimonials.core.data.database import Base
from testimonials.core.pictures.images import LOGO, Image
from testimonials.core.web.fields import StrictSchema
from testimonials.projects.configuration.defaults import BUSINESS_NAME_LENGTH, SLUG_LENGTH
from testimonials.projects.models import OldSlug, Project, WidgetSighting
from testimonials.testimonials.models import Testimonial, TestimonialChange
from testimonials.testimonials.schemas import (
    AVATAR_LENGTH,
    LINE_LENGTH,
    RATING_RANGE,
    TEXT_LENGTH,
)
from testimonials.transfer.archives.values import (
    Address,
    DashboardConfig,
    Email,
    Exact,
    Filled,
    Flag,
    Identifier,
    Key,
    Moment,
    Number,
    OneOf,
    Origin,
    PageConfig,
    Slug,
    Twitter,
    WidgetConfig,
    Words,
)

FORMAT, VERSION = "testimonials-project", 1
SENTENCE_LENGTH, NAME_LENGTH, LANGUAGE_LENGTH = 1000, 254, 35
STATES = ("pending", "approved", "rejected", "spam", "demo", "withdrawn")
SOURCES = ("public_page", "manual", "import", "demo")
# Requests are sent at most some days after they were written down.
REQUESTED_AHEAD = timedelta(days=60)


@dataclass(frozen=True)
class Part:
    """One kind of row: what is written of each column, and why the others are left out."""

    model: type[Base]
    columns: Mapping[str, Exact]
    left_out: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        schema = StrictSchema.from_dict({to_name(key): each for key, each in self.columns.items()})
        object.__setattr__(self, "_schema", schema())

    def write(self, row: Any) -> dict[str, Any]:
        """Return a row as the archive holds it."""
        return {to_name(key): write_value(each, getattr(row, key)) for key, each in self._items()}

    def read(self, written: Any, where: str) -> dict[str, Any]:
        """Return the columns of a row of an archive; raise `ValidationError` that says where."""
        if not isinstance(written, dict):
            raise ValidationError(f"{where}: It is no object.")
        try:
            schema: StrictSchema = getattr(self, "_schema")  # noqa: B009
            loaded = schema.check(written)
        except ValidationError as error:
            name, messages = next(iter(error.messages_dict.items()))
            raise ValidationError(f"{where}, {str(name)[:60]}: {messages[0]}") from None
        return {key: loaded[to_name(key)] for key in self.columns}

    def _items(self) -> Any:
        return self.columns.items()


def to_name(column: str) -> str:
    """Return the name of a column in an archive: `author_name` is `authorName`."""
    first, *others = column.split("_")
    return first + "".join(each.capitalize() for each in others)


def write_value(kind: Exact, value: Any) -> Any:
    """Return a value as JSON."""
    return kind._serialize(value, None, None)


_PARENT = "Its place in the archive says it."

PROJECT = Part(
    Project,
    {
        "id": Identifier(),
        "status": OneOf("active", "inactive"),
        "business_name": Words(BUSINESS_NAME_LENGTH),
        "slug": Slug(SLUG_LENGTH),
        "page_config": PageConfig(),
        "widget_config": WidgetConfig(),
        "dashboard_config": DashboardConfig(),
        "logo_id": Identifier(empty=True),
        "created_at": Moment(),
        "updated_at": Moment(),
    },
    {
        "account_id": "Whoever imports it names the account.",
        "feed_version": "It rises, so that nothing old is shown from a memory.",
        "last_testimonial_at": "It is the time of the newest testimonial.",
        "deleted_at": "What is imported is there again.",
    },
)
OLD_SLUG = Part(
    OldSlug, {"slug": Slug(SLUG_LENGTH), "renamed_at": Moment()}, {"project_id": _PARENT}
)
SIGHTING = Part(
    WidgetSighting, {"origin": Origin(300), "seen_at": Moment()}, {"project_id": _PARENT}
)
TESTIMONIAL = Part(
    Testimonial,
    {
        "id": Identifier(),
        "status": OneOf(*STATES),
        "source": OneOf(*SOURCES),
        "author_name": Filled(LINE_LENGTH),
        "author_email": Email(empty=True),
        "author_role": Words(LINE_LENGTH),
        "author_company": Words(LINE_LENGTH, empty=True),
        "author_avatar": Address(AVATAR_LENGTH, empty=True),
        "avatar_id": Identifier(empty=True),
        "twitter": Twitter(empty=True),
        "text": Filled(TEXT_LENGTH, lines=True),
        "rating": Number(*RATING_RANGE, empty=True),
        "is_pinned": Flag(),
        "submitted_at": Moment(),
        "reviewed_at": Moment(empty=True),
        "consent_text": Words(SENTENCE_LENGTH, lines=True, empty=True),
        "consent_language": Words(LANGUAGE_LENGTH, empty=True),
        "consented_at": Moment(empty=True),
        "submission_key": Key(64, empty=True),
        "import_key": Key(64, empty=True),
        "held_for": Words(200, empty=True),
        "text_fingerprint": Key(32, empty=True),
        "email_verified_at": Moment(empty=True),
        "consent_withdrawn_at": Moment(empty=True),
        "returned_at": Moment(empty=True),
        "original_text": Words(TEXT_LENGTH, lines=True, empty=True),
        "deleted_at": Moment(empty=True),
        "created_at": Moment(),
        "updated_at": Moment(),
    },
    {"project_id": _PARENT, "is_visible": "The database tells it from the status."},
)
CHANGE = Part(
    TestimonialChange,
    {
        "id": Identifier(),
        "batch_id": Identifier(),
        "actor": Words(NAME_LENGTH),
        "action": Words(40),
        "created_at": Moment(),
    },
    {"testimonial_id": _PARENT, "before": "Its values are written as those of a testimonial are."},
)
BATCH = Part(
    InvitationBatch,
    {
        "id": Identifier(),
        "actor": Words(NAME_LENGTH),
        "subject": Words(SUBJECT_LENGTH),
        "message": Words(MESSAGE_LENGTH, lines=True),
        "language": Words(LANGUAGE_LENGTH),
        "remind_after_days": Number(0, 365, whole=True, empty=True),
        "size": Number(0, 100_000, whole=True),
        "created_at": Moment(),
    },
    {"project_id": _PARENT},
)
INVITATION = Part(
    Invitation,
    {
        "id": Identifier(),
        "batch_id": Identifier(),
        "email": Email(),
        "name": Words(LINE_LENGTH),
        "company": Words(LINE_LENGTH, empty=True),
        "next_mail_at": Moment(empty=True, ahead=REQUESTED_AHEAD),
        "sent_at": Moment(empty=True),
        "reminded_at": Moment(empty=True),
        "opened_at": Moment(empty=True),
        "answered_at": Moment(empty=True),
        "declined_at": Moment(empty=True),
        "testimonial_id": Identifier(empty=True),
        "created_at": Moment(),
    },
    {
        "project_id": _PARENT,
        "email_hash": "It is made of the account and the address.",
        "mail_id": "The outbox stays where it is.",
    },
)
IMAGE = Part(
    Image,
    {
        "id": Identifier(),
        "width": Number(1, LOGO.width, whole=True),
        "height": Number(1, LOGO.width, whole=True),
        "created_at": Moment(),
    },
    {"content": "It is a file of its own in the archive."},
)
PARTS = (PROJECT, OLD_SLUG, SIGHTING, TESTIMONIAL, CHANGE, BATCH, INVITATION, IMAGE)

# Tables that no archive of a project has, or not as rows.
OTHER_TABLES = {
    "testimonial_tag": "The names of the tags stand with the testimonial.",
    "unsubscribed_address": "It stands with the invitation to the address, as `unsubscribedAt`.",
    "project_member": "People and their roles are told in `team`, and given no access elsewhere.",
    "member_invitation": "The link in it belongs to one instance.",
    "notification_choice": "It belongs to a person of one instance.",
    "share_picture": "It is drawn anew.",
    "widget_script": "Versions of the widget's script belong to the instance that served them.",
    "account": "An account is exported by itself.",
    "event": "The record of what happened belongs to the account.",
    "former_address": "An address that was left belongs to the account.",
    "link_request": "It is answered within seconds, by mail.",
    "session": "A signed-in browser belongs to one instance.",
    "billing_subscription": "It belongs to the account.",
    "outbox_mail": "The outbox stays where it is.",
    "background_job": "It belongs to the processes of one instance.",
    "rate_limit_counter": "It is gone within an hour.",
    "secret_mark": "It tells the secret key of one instance.",
}
