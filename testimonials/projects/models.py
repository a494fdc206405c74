"""Projects, their members and invitations, host names and proposals."""

import re
from datetime import datetime
from enum import IntEnum
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    ColumnElement,
    ForeignKey,
    Index,
    String,
    UniqueConstraint,
    case,
    false,
    select,
)
from sqlalchemy.orm import Mapped, column_property, mapped_column, validates

from testimonials.auth.models import AccessToken, Account
from testimonials.core import clock
from testimonials.core.changed import Settings
from testimonials.core.db.engine import Base, Timestamp, child_of, present
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.http.i18n import gettext
from testimonials.core.http.urls import image_url, target_host
from testimonials.projects.defaults import fill_in, require_known
from testimonials.projects.page_design import read_page_design
from testimonials.projects.widget_design import BRAND_FONTS, read_design

# Columns of a project with the id of an image.
PICTURES = ("logo_id", "brand_logo_id", "cover_id", "portrait_id")


class Suspension(IntEnum):
    """How much of a project is suspended with its account."""

    NONE = 0
    # The page accepts nothing; widgets and the wall stay as they are.
    TAKES_NOTHING = 1
    # Widgets and the wall are empty too.
    HIDDEN = 2


class Project(Base):
    """A collection page, a widget, and the testimonials of one business.

    Configurations are JSON, so that a new setting needs no migration. To change one, assign a new
    dictionary while the row is locked.
    """

    __table_args__ = (
        Index("ix_project_account_id_created_at", "account_id", "created_at"),
        Index("uq_project_account_id_external_id", "account_id", "external_id", unique=True),
        Index("uq_project_own_host", "own_host", unique=True),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    account_id: Mapped[str] = child_of(Account.id)
    status: Mapped[str] = mapped_column(default="active")
    business_name: Mapped[str] = mapped_column(default="")
    slug: Mapped[str] = mapped_column(String(60), unique=True)
    # The caller's own name for it (PUT /v1/setup).
    external_id: Mapped[str | None] = mapped_column(String(120))
    page_config: Mapped[dict[str, Any]] = mapped_column(JSON)
    widget_config: Mapped[dict[str, Any]] = mapped_column(JSON)
    # For the dashboard alone: the message to customers, which steps are done.
    dashboard_config: Mapped[dict[str, Any]] = mapped_column(
        JSON, default=dict, server_default="{}"
    )
    # The widget's look and selection beyond the specified settings, without defaults.
    widget_design: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict, server_default="{}")
    # Unpublished changes of the editor: `config`, `design` and `cta`.
    widget_draft: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    # An image's id. Not a foreign key: unused images are deleted later.
    logo_id: Mapped[str | None] = mapped_column(index=True)
    # The fields of the brand that were set (`projects.brand`), and as `read` what the website says.
    brand: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict, server_default="{}")
    brand_logo_id: Mapped[str | None] = mapped_column(index=True)
    # The collection page's look and questions beyond the specified settings, without defaults.
    page_design: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict, server_default="{}")
    # Ids of images: the page's cover, and the face of the person who reads what is sent.
    cover_id: Mapped[str | None] = mapped_column(index=True)
    portrait_id: Mapped[str | None] = mapped_column(index=True)
    # Ids of questions, including deleted ones, whose answers only the owner sees now, even those
    # that authors gave publicly.
    private_questions: Mapped[list[str]] = mapped_column(JSON, default=list, server_default="[]")
    # The project's host name, while this service answers there (`domains`); public links use it.
    own_host: Mapped[str | None] = mapped_column(String(253))
    # The key with which the owner's shop signs links that prove a purchase.
    purchase_secret: Mapped[str | None]
    # The former owner's key, which also works for a while.
    old_purchase_secret: Mapped[str | None]
    old_purchase_secret_until: Mapped[datetime | None] = mapped_column(Timestamp)
    # Rises with every change that the widget or the API's list would show.
    feed_version: Mapped[int] = mapped_column(BigInteger, default=1)
    # The number of events in its record (`core.audit`).
    event_number: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    # The `Numbers` (`total` and `stars`) from before every genuine rating counted, shown until
    # `numbers_from`.
    old_numbers: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    numbers_from: Mapped[datetime | None] = mapped_column(Timestamp)
    # So that the next testimonial gets a later time without a query.
    last_testimonial_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # In the trash since then: the owner can restore it for 7 days.
    deleted_at: Mapped[datetime | None] = mapped_column(Timestamp, index=True)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    updated_at: Mapped[datetime] = mapped_column(Timestamp, default=present)

    # The account's `Suspension`, read with each project; None before it is stored.
    held: Mapped[int | None] = column_property(
        select(
            case(
                (Account.suspended_at.is_(None), Suspension.NONE.value),
                (Account.hides_widgets, Suspension.HIDDEN.value),
                else_=Suspension.TAKES_NOTHING.value,
            )
        )
        .where(Account.id == account_id)
        .correlate_except(Account)
        .scalar_subquery(),
        expire_on_flush=False,
    )

    # Settings whose changes are recorded for the case file (`core.changed`), each with a function
    # that returns the value to record, or None to record it unchanged.
    SETTINGS: ClassVar[Settings] = {
        **dict.fromkeys(("status", "business_name", "slug", "own_host", *PICTURES)),
        "page_config": fill_in,
        "page_design": read_page_design,
        "widget_config": fill_in,
        "widget_design": read_design,
        "brand": lambda brand: {name: brand[name] for name in brand if name != "read"},
        "dashboard_config": None,
        "private_questions": None,
        "purchase_secret": bool,
    }

    # The condition that its account is suspended.
    is_suspended: ClassVar[ColumnElement[bool]]

    @validates("dashboard_config")
    def _check_dashboard_config(self, _name: str, config: dict[str, Any]) -> dict[str, Any]:
        require_known(config, self.dashboard_config)
        return config

    @property
    def is_active(self) -> bool:
        """Whether the widget shows testimonials; unless suspended, the page accepts them too."""
        return self.status == "active" and self.suspension is not Suspension.HIDDEN

    @property
    def is_open(self) -> bool:
        return self.is_active and self.suspension is Suspension.NONE

    @property
    def suspension(self) -> Suspension:
        return Suspension(self.held or 0)

    @property
    def name(self) -> str:
        """The name that people see: the business's, else the slug."""
        return self.business_name or self.slug

    @property
    def called(self) -> str:
        """The name that the team sees, instead of a random slug."""
        is_random = re.fullmatch(r"project-[a-z0-9]{6}", self.slug)
        return gettext("Unnamed project") if is_random and not self.business_name else self.name

    @property
    def whole_widget_config(self) -> dict[str, Any]:
        return fill_in(self.widget_config)

    @property
    def whole_widget_design(self) -> dict[str, Any]:
        return self.in_font(read_design(self.widget_design))

    def in_font(self, design: dict[str, Any]) -> dict[str, Any]:
        """Return a widget's whole design, with the brand's font if it has none of its own."""
        return design | {"font": design["font"] or BRAND_FONTS[self.brand.get("font", "site")]}

    @property
    def whole_page_design(self) -> dict[str, Any]:
        return read_page_design(self.page_design)

    @property
    def open_steps(self) -> list[dict[str, Any]]:
        """The steps that the page still offers after sending."""
        today = clock.now().date().isoformat()
        steps = self.whole_page_design["steps"]
        return [step for step in steps if not step["until"] or step["until"] >= today]

    def next_time(self) -> datetime:
        """Return a time for the next testimonial, later than all others; the project is locked."""
        last, now = self.last_testimonial_at, clock.now()
        self.last_testimonial_at = max(now, last + clock.MILLISECOND) if last else now
        return self.last_testimonial_at

    @property
    def whole_page_config(self) -> dict[str, Any]:
        return {"businessName": self.business_name, **self.public_page_config}

    @property
    def public_page_config(self) -> dict[str, Any]:
        return {"slug": self.slug, **fill_in(self.page_config), "logo": image_url(self.logo_id)}


Project.is_suspended = (
    select(Account.id)
    .where(Account.id == Project.account_id, Account.suspended_at.is_not(None))
    .correlate_except(Account)
    .exists()
)


class OldSlug(Base):
    """An old slug, which redirects and is reserved for its project for 90 days."""

    slug: Mapped[str] = mapped_column(String(60), primary_key=True)
    project_id: Mapped[str] = child_of(Project.id, index=True)
    renamed_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


class Member(Base):
    """A colleague of an owner, in one project or in all present and future ones.

    Somebody who is in both has the higher role.
    """

    __table_args__ = (
        Index("uq_member_project_id_account_id", "project_id", "account_id", unique=True),
        Index("uq_member_owner_id_account_id", "owner_id", "account_id", unique=True),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    # Either of these: the project, or the owner of all of them.
    project_id: Mapped[str | None] = child_of(Project.id)
    owner_id: Mapped[str | None] = child_of(Account.id)
    account_id: Mapped[str] = child_of(Account.id, index=True)
    # `admin`, `moderator` or `reader`.
    role: Mapped[str]
    # Who granted it: `owner`, or `company`, whose groups may revoke it.
    source: Mapped[str] = mapped_column(String(20), default="owner")
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


class TeamInvitation(Base):
    """An unanswered invitation to a project's team, or to an owner's."""

    __table_args__ = (
        Index("uq_team_invitation_project_id_email", "project_id", "email", unique=True),
        Index("uq_team_invitation_owner_id_email", "owner_id", "email", unique=True),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    # Either of these, as in `Member`.
    project_id: Mapped[str | None] = child_of(Project.id)
    owner_id: Mapped[str | None] = child_of(Account.id)
    # The owner's projects that it is limited to. None: all present and future ones.
    project_ids: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    email: Mapped[str] = mapped_column(String(254))
    role: Mapped[str]
    # A hash of the random part of the latest link; earlier ones no longer work.
    nonce_hash: Mapped[str]
    invited_by: Mapped[str] = mapped_column(String(254))
    # The sender. None in old rows whose sender no longer had an account.
    invited_by_id: Mapped[str | None] = child_of(Account.id, index=True)
    expires_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


class OwnershipOffer(Base):
    """An owner's offer to transfer one project or all of them to a colleague."""

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    owner_id: Mapped[str] = child_of(Account.id, index=True)
    # None: all that the owner has when the offer is accepted.
    project_id: Mapped[str | None] = child_of(Project.id, index=True)
    receiver_id: Mapped[str] = child_of(Account.id, index=True)
    # Whether the former owner becomes an admin, and workspace members keep their roles.
    keeps_team: Mapped[bool] = mapped_column(Boolean)
    expires_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


class NotificationChoice(Base):
    """How often a person gets mail about a project's new testimonials: at once, daily or never."""

    project_id: Mapped[str] = child_of(Project.id, primary_key=True)
    account_id: Mapped[str] = child_of(Account.id, primary_key=True, index=True)
    mode: Mapped[str] = mapped_column(default="at_once")
    # The time up to which the person was notified of testimonials.
    told_until: Mapped[datetime | None] = mapped_column(Timestamp)
    last_sent_at: Mapped[datetime | None] = mapped_column(Timestamp)
    told_of_proposals_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # Whether the emails have links that decide without signing in.
    decides_by_mail: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())


class WidgetSighting(Base):
    project_id: Mapped[str] = child_of(Project.id, primary_key=True)
    origin: Mapped[str] = mapped_column(String(300), primary_key=True)
    seen_at: Mapped[datetime] = mapped_column(Timestamp)


TXT_PREFIX = "_testimonials."


class CustomDomain(Base):
    """A host name that a project wants or holds. `Project.own_host` is the one that links use.

    Several projects may want a name; the one whose token is in the TXT record holds it.
    """

    __table_args__ = (UniqueConstraint("host", "is_held"),)

    project_id: Mapped[str] = child_of(Project.id, primary_key=True)
    host: Mapped[str] = mapped_column(String(253))
    # The required value of the TXT record, which is public.
    token: Mapped[str] = mapped_column(String(60))
    # True or None, so that the unique key applies only to the holder.
    is_held: Mapped[bool | None] = mapped_column(Boolean)
    verified_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # When the TXT record of a held name was first missing.
    missing_since: Mapped[datetime | None] = mapped_column(Timestamp)
    # When this service first answered there with a valid certificate.
    serving_since: Mapped[datetime | None] = mapped_column(Timestamp)
    checked_at: Mapped[datetime | None] = mapped_column(Timestamp)
    next_check_at: Mapped[datetime] = mapped_column(Timestamp, default=present, index=True)
    # Names and addresses that the last look-up found.
    points_to: Mapped[list[str]] = mapped_column(JSON, default=list, server_default="[]")
    # A sentence that says why it can't be opened.
    problem: Mapped[str] = mapped_column(String(300), default="", server_default="")
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)

    @property
    def records(self) -> list[dict[str, str]]:
        return [
            {"type": "TXT", "name": f"{TXT_PREFIX}{self.host}", "value": self.token},
            {"type": "CNAME", "name": self.host, "value": target_host()},
        ]


# A status in addition to those of testimonials.
PROPOSED = "proposed"


class Proposal(Base):
    """A change that an agent proposed; nothing public shows it before a person accepts it."""

    __table_args__ = (Index("ix_proposal_project_id_status_id", "project_id", "status", "id"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    project_id: Mapped[str] = child_of(Project.id)
    # One of `CHANGES`.
    kind: Mapped[str] = mapped_column(String(40))
    # The testimonial that it changes, if any. No foreign key: it may be deleted.
    target_id: Mapped[str | None]
    values: Mapped[dict[str, Any]] = mapped_column(JSON)
    # The values that these fields had when it was made.
    before: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    # The agent's explanation.
    reason: Mapped[str] = mapped_column(String(500), default="")
    # `waiting`, `accepted`, `declined`, or `withdrawn` by the agent.
    status: Mapped[str] = mapped_column(String(20), default="waiting")
    # The actor, as in `Event`.
    actor_kind: Mapped[str] = mapped_column(String(20))
    actor_name: Mapped[str | None]
    token_id: Mapped[str | None] = mapped_column(
        ForeignKey(AccessToken.id, ondelete="SET NULL"), index=True
    )
    # What accepting it created, such as the id of a testimonial.
    result: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    # The decider's answer to the agent.
    note: Mapped[str | None] = mapped_column(String(500))
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    decided_at: Mapped[datetime | None] = mapped_column(Timestamp)
    decided_by_id: Mapped[str | None] = mapped_column(
        ForeignKey(Account.id, ondelete="SET NULL"), index=True
    )
