"""Who calls the API, as plain values that outlive the transaction they were read in."""

from dataclasses import dataclass
from datetime import datetime

from testimonials.auth.scopes import Scope


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
