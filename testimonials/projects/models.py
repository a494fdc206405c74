"""Projects, their members and invitations, host names and proposals."""

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
from testimonials.core.http.urls import image_url, target_host
from testimonials.projects.defaults import fill_in, require_known
from testimonials.projects.page_design import read_page_design
from testimonials.projects.widget_design import BRAND_FONTS, read_design

# Columns of a project with the id of an image.
PICTURES = ("logo_id", "brand_logo_id", "cover_id", "portrait_id")


class Suspension(IntEnum):
    """What a suspended account's projects still do."""

    NONE = 0
    # The page takes nothing; widgets and the wall show what they did.
    TAKES_NOTHING = 1
    # Widgets and the wall are empty too.
    HIDDEN = 2


class Project(Base):
    """One project: a collection page, a widget, and the testimonials of one business.

    The two configurations are JSON, so that a new setting needs no migration; a service changes
    them by assigning a new dictionary, under the row's lock.
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
    # What only the dashboard needs: the message to customers, which steps are done.
    dashboard_config: Mapped[dict[str, Any]] = mapped_column(
        JSON, default=dict, server_default="{}"
    )
    # How the widget looks and what it selects beyond the specified settings; only what differs
    # from the defaults.
    widget_design: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict, server_default="{}")
    # What the editor is changing, until it is published: `config`, `design` and `cta`.
    widget_draft: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    # An image's id. No foreign key: unused pictures are removed later.
    logo_id: Mapped[str | None] = mapped_column(index=True)
    # What was set of the brand (`projects.brand`), and under `read` what the website has; and the
    # id of its logo's image.
    brand: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict, server_default="{}")
    brand_logo_id: Mapped[str | None] = mapped_column(index=True)
    # How the collection page looks and what it asks beyond the specified settings; only what
    # differs from the defaults.
    page_design: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict, server_default="{}")
    # Ids of images, as of the logo: the page's cover, and the face of who reads what is sent.
    cover_id: Mapped[str | None] = mapped_column(index=True)
    portrait_id: Mapped[str | None] = mapped_column(index=True)
    # Ids of questions whose answers only the owner sees now, though some were asked for in public;
    # also of questions that were deleted since.
    private_questions: Mapped[list[str]] = mapped_column(JSON, default=list, server_default="[]")
    # Their own host name, once it answers there (`domains`); links to the public pages use it.
    own_host: Mapped[str | None] = mapped_column(String(253))
    # With which the owner's shop signs links that prove a purchase.
    purchase_secret: Mapped[str | None]
    # The former owner's, which works too for a while.
    old_purchase_secret: Mapped[str | None]
    old_purchase_secret_until: Mapped[datetime | None] = mapped_column(Timestamp)
    # Rises with every change that the widget or the API's list would show.
    feed_version: Mapped[int] = mapped_column(BigInteger, default=1)
    # How many events its record has (`core.audit`).
    event_number: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    # The numbers of before every genuine rating counted, `total` and `stars` as in `Numbers`; they
    # stand until then.
    old_numbers: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    numbers_from: Mapped[datetime | None] = mapped_column(Timestamp)
    # So that the next testimonial gets a later time without a query.
    last_testimonial_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # In the trash since then: only the owner can restore it, within 7 days.
    deleted_at: Mapped[datetime | None] = mapped_column(Timestamp, index=True)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    updated_at: Mapped[datetime] = mapped_column(Timestamp, default=present)

    # From its account, read with each project; None before it is stored.
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

    # What the case file tells the changes of (`core.changed`); of the secret, whether there is one.
    # With None the value is kept as it is.
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

    # The condition that its account is suspended, for queries about what waits.
    is_suspended: ClassVar[ColumnElement[bool]]

    @validates("dashboard_config")
    def _check_dashboard_config(self, _name: str, config: dict[str, Any]) -> dict[str, Any]:
        require_known(config, self.dashboard_config)
        return config

    @property
    def is_active(self) -> bool:
        """Whether the widget shows testimonials, and the page takes them unless suspended."""
        return self.status == "active" and self.suspension is not Suspension.HIDDEN

    @property
    def is_open(self) -> bool:
        return self.is_active and self.suspension is Suspension.NONE

    @property
    def suspension(self) -> Suspension:
        return Suspension(self.held or 0)

    @property
    def name(self) -> str:
        """The name that people see: the business, or the slug if it has none."""
        return self.business_name or self.slug

    @property
    def whole_widget_config(self) -> dict[str, Any]:
        return fill_in(self.widget_config)

    @property
    def whole_widget_design(self) -> dict[str, Any]:
        return self.in_font(read_design(self.widget_design))

    def in_font(self, design: dict[str, Any]) -> dict[str, Any]:
        """Return a widget's whole design with the brand's font, unless it has one of its own."""
        return design | {"font": design["font"] or BRAND_FONTS[self.brand.get("font", "site")]}

    @property
    def whole_page_design(self) -> dict[str, Any]:
        return read_page_design(self.page_design)

    @property
    def open_steps(self) -> list[dict[str, Any]]:
        """What the page still offers after sending."""
        today = clock.now().date().isoformat()
        steps = self.whole_page_design["steps"]
        return [step for step in steps if not step["until"] or step["until"] >= today]

    def next_time(self) -> datetime:
        """Return the time of its next testimonial: now, but later than all earlier ones.

        The project is locked, so that no two get the same time (decisions, "Testimonials").
        """
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
    """A former slug: it redirects, and is reserved for its project for 90 days."""

    slug: Mapped[str] = mapped_column(String(60), primary_key=True)
    project_id: Mapped[str] = child_of(Project.id, index=True)
    renamed_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


class Member(Base):
    """A colleague of an owner, in one project or in all that the owner has, also those to come.

    Somebody who is in both has the higher of both roles.
    """

    __table_args__ = (
        Index("uq_member_project_id_account_id", "project_id", "account_id", unique=True),
        Index("uq_member_owner_id_account_id", "owner_id", "account_id", unique=True),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    # One of these two: the project, or the owner of all of them.
    project_id: Mapped[str | None] = child_of(Project.id)
    owner_id: Mapped[str | None] = child_of(Account.id)
    account_id: Mapped[str] = child_of(Account.id, index=True)
    # `admin`, `moderator` or `reader`.
    role: Mapped[str]
    # Who gave it: `owner`, or `company`, whose groups may take it back.
    source: Mapped[str] = mapped_column(String(20), default="owner")
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


class TeamInvitation(Base):
    """An invitation to a project's team, or to an owner's, that has not been answered."""

    __table_args__ = (
        Index("uq_team_invitation_project_id_email", "project_id", "email", unique=True),
        Index("uq_team_invitation_owner_id_email", "owner_id", "email", unique=True),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    # One of these two, as in `Member`.
    project_id: Mapped[str | None] = child_of(Project.id)
    owner_id: Mapped[str | None] = child_of(Account.id)
    # Those of the owner's that it is to. None: all of them, also those to come.
    project_ids: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    email: Mapped[str] = mapped_column(String(254))
    role: Mapped[str]
    # A hash of the random part of the latest link; earlier ones no longer work.
    nonce_hash: Mapped[str]
    invited_by: Mapped[str] = mapped_column(String(254))
    # Who sent it, even if their address changes. None where they had no account any more when this
    # was first noted.
    invited_by_id: Mapped[str | None] = child_of(Account.id, index=True)
    expires_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


class OwnershipOffer(Base):
    """An owner's offer to hand one project, or all of them, to a colleague, who has to accept."""

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    owner_id: Mapped[str] = child_of(Account.id, index=True)
    # None: all that the owner has when it is accepted.
    project_id: Mapped[str | None] = child_of(Project.id, index=True)
    receiver_id: Mapped[str] = child_of(Account.id, index=True)
    # Whether the former owner stays as an admin, and their workspace's members keep their roles.
    keeps_team: Mapped[bool] = mapped_column(Boolean)
    expires_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


class NotificationChoice(Base):
    """How often one person gets mail about a project's new testimonials: at once, daily, never."""

    project_id: Mapped[str] = child_of(Project.id, primary_key=True)
    account_id: Mapped[str] = child_of(Account.id, primary_key=True, index=True)
    mode: Mapped[str] = mapped_column(default="at_once")
    # Testimonials up to this time have been reported.
    told_until: Mapped[datetime | None] = mapped_column(Timestamp)
    last_sent_at: Mapped[datetime | None] = mapped_column(Timestamp)
    told_of_proposals_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # Whether the mails have links that decide without signing in.
    decides_by_mail: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())


class WidgetSighting(Base):
    project_id: Mapped[str] = child_of(Project.id, primary_key=True)
    origin: Mapped[str] = mapped_column(String(300), primary_key=True)
    seen_at: Mapped[datetime] = mapped_column(Timestamp)


TXT_PREFIX = "_testimonials."


class CustomDomain(Base):
    """A host name that a project wants or has. `Project.own_host` is the one that its links use.

    Any number of projects may want a name; the one that its TXT record names holds it.
    """

    __table_args__ = (UniqueConstraint("host", "is_held"),)

    project_id: Mapped[str] = child_of(Project.id, primary_key=True)
    host: Mapped[str] = mapped_column(String(253))
    # What the TXT record has to say. It is public.
    token: Mapped[str] = mapped_column(String(60))
    # True or None, so that the unique key holds for those who have the name alone.
    is_held: Mapped[bool | None] = mapped_column(Boolean)
    verified_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # Since when the TXT record of a name that is held isn't there.
    missing_since: Mapped[datetime | None] = mapped_column(Timestamp)
    # Since when this service answers there, with a certificate that browsers take.
    serving_since: Mapped[datetime | None] = mapped_column(Timestamp)
    checked_at: Mapped[datetime | None] = mapped_column(Timestamp)
    next_check_at: Mapped[datetime] = mapped_column(Timestamp, default=present, index=True)
    # Names and addresses that the host led to when it was last looked up.
    points_to: Mapped[list[str]] = mapped_column(JSON, default=list, server_default="[]")
    # Why it can't be opened, in a sentence.
    problem: Mapped[str] = mapped_column(String(300), default="", server_default="")
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)

    @property
    def records(self) -> list[dict[str, str]]:
        return [
            {"type": "TXT", "name": f"{TXT_PREFIX}{self.host}", "value": self.token},
            {"type": "CNAME", "name": self.host, "value": target_host()},
        ]


# Beside the states of testimonials.
PROPOSED = "proposed"


class Proposal(Base):
    """One change that an agent proposed: `kind` and `values`, waiting for a person.

    Nothing of it is public before it is accepted.
    """

    __table_args__ = (Index("ix_proposal_project_id_status_id", "project_id", "status", "id"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    project_id: Mapped[str] = child_of(Project.id)
    # One of `CHANGES`.
    kind: Mapped[str] = mapped_column(String(40))
    # The testimonial that it is about, if it is about one. No foreign key: it may be gone.
    target_id: Mapped[str | None]
    values: Mapped[dict[str, Any]] = mapped_column(JSON)
    # What was there when it was made, of the same fields.
    before: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    # Why, in the agent's words.
    reason: Mapped[str] = mapped_column(String(500), default="")
    # `waiting`, `accepted`, `declined`, or `withdrawn` by the agent.
    status: Mapped[str] = mapped_column(String(20), default="waiting")
    # Who proposed it, as in `Event`.
    actor_kind: Mapped[str] = mapped_column(String(20))
    actor_name: Mapped[str | None]
    token_id: Mapped[str | None] = mapped_column(
        ForeignKey(AccessToken.id, ondelete="SET NULL"), index=True
    )
    # What accepting it made, such as the id of a testimonial.
    result: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    # What the person who decided wrote to the agent.
    note: Mapped[str | None] = mapped_column(String(500))
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    decided_at: Mapped[datetime | None] = mapped_column(Timestamp)
    decided_by_id: Mapped[str | None] = mapped_column(
        ForeignKey(Account.id, ondelete="SET NULL"), index=True
    )
