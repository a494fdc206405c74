"""Who calls the API, as plain values that outlive their transaction; the scopes of tokens."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from testimonials.core.http.i18n import gettext_noop


class Scope(StrEnum):
    """What an access token may do. `label` and `sentence` are what people read."""

    label: str
    sentence: str

    def __new__(cls, name: str, label: str = "", sentence: str = "") -> "Scope":
        member = str.__new__(cls, name)
        member._value_, member.label, member.sentence = name, label, sentence
        return member

    READ = (
        "read",
        gettext_noop("Read"),
        gettext_noop("See testimonials, also those that wait, and settings."),
    )
    DRAFT = (
        "draft",
        gettext_noop("Draft"),
        gettext_noop("Suggest additions and changes. They wait for you."),
    )
    PUBLISH = (
        "publish",
        gettext_noop("Publish"),
        gettext_noop("Add, approve, reject, edit and reply. Shown at once."),
    )
    CONFIGURE = (
        "configure",
        gettext_noop("Configure"),
        gettext_noop(
            "Change the widget and the page, ask customers by mail, and have testimonials sent "
            "elsewhere by webhooks."
        ),
    )


DEFAULT_SCOPES = (Scope.READ, Scope.DRAFT)
NEVER = gettext_noop("No token can delete a project, see passwords or make other tokens.")


@dataclass(frozen=True)
class Caller:
    """The account that a credential belongs to, and what that credential may do.

    With `drafts_only`, what this call changes must become a proposal.
    """

    id: str
    email: str
    # The end of the account's key, or the name of the access token.
    name: str
    # None: the account's key.
    token_id: str | None = None
    scopes: tuple[Scope, ...] = ()
    # The only project that it reaches; None: all of the account's.
    project_id: str | None = None
    # None: the account's key, or a token that never expires.
    expires_at: datetime | None = None
    drafts_only: bool = False
    # The account of the person who made the token.
    made_by_id: str | None = None

    @property
    def is_key(self) -> bool:
        return self.token_id is None

    @property
    def credential(self) -> str:
        return "key" if self.is_key else "token"

    @property
    def label(self) -> str:
        """How the history of a testimonial names it, which moderators read too."""
        return "An agent (API key)" if self.is_key else f"{self.name} (access token)"
