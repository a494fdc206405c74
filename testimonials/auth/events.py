"""The events of accounts: signing in, keys, tokens and plans."""

from testimonials.core.audit import EventType
from testimonials.core.http.i18n import gettext_noop

SESSION_STARTED = EventType("session.started", gettext_noop("signed in by %(means)s"))
SESSION_REFUSED = EventType(
    "session.refused",
    gettext_noop("tried to sign in with a wrong password"),
    is_counted=True,
    is_guess=True,
)
SESSION_ENDED = EventType("session.ended", gettext_noop("signed out %(which)s"))
PASSWORD_CHANGED = EventType("password.changed", gettext_noop("changed the password"))
PASSWORD_RESET = EventType(
    "password.reset", gettext_noop("chose a new password through a mailed link")
)
PASSWORD_REMOVED = EventType("password.removed", gettext_noop("did without a password"))
PASSWORD_REFUSED = EventType(
    "password.refused",
    gettext_noop("entered a wrong password while signed in"),
    is_counted=True,
    is_guess=True,
)
COMPANY_LINKED = EventType("company.linked", gettext_noop("linked the company account %(who)s"))
COMPANY_UNLINKED = EventType(
    "company.unlinked", gettext_noop("unlinked the company account %(who)s")
)
COMPANY_ROLE_CHANGED = EventType(
    "company.role", gettext_noop("gave %(email)s the role of their groups: “%(role)s”")
)
COMPANY_REFUSED = EventType(
    "company.refused",
    gettext_noop("was refused by the company’s sign-in: %(reason)s"),
    is_counted=True,
)
PASSKEY_ADDED = EventType("passkey.added", gettext_noop("added the passkey %(passkey)s"))
PASSKEY_RENAMED = EventType(
    "passkey.renamed", gettext_noop("renamed the passkey %(old)s to %(passkey)s")
)
PASSKEY_REMOVED = EventType("passkey.removed", gettext_noop("removed the passkey %(passkey)s"))
PASSKEY_REFUSED = EventType(
    "passkey.refused", gettext_noop("tried a passkey that was not accepted"), is_guess=True
)
APP_CONNECTED = EventType("app.connected", gettext_noop("connected an authenticator app"))
APP_REMOVED = EventType("app.removed", gettext_noop("turned the authenticator app off"))
CODE_REFUSED = EventType("code.refused", gettext_noop("entered a wrong code"), is_guess=True)
RECOVERY_CODES_MADE = EventType("codes.made", gettext_noop("made new recovery codes"))
RECOVERY_CODE_USED = EventType("codes.used", gettext_noop("used a recovery code, %(left)s left"))
SIGN_IN_RESET = EventType(
    "sign_in.reset", gettext_noop("removed passkeys and the authenticator app")
)
STRONG_REQUIRED = EventType(
    "sign_in.required", gettext_noop("asked everybody for more than a password")
)
STRONG_NOT_REQUIRED = EventType(
    "sign_in.relaxed", gettext_noop("let everybody sign in with a password alone")
)
ADDRESS_REQUESTED = EventType(
    "address.requested", gettext_noop("asked to change the email address to %(email)s")
)
ADDRESS_CHANGED = EventType(
    "address.changed", gettext_noop("changed the email address from %(old)s to %(email)s")
)
NAME_CHANGED = EventType("account.renamed", gettext_noop("changed the display name to %(name)s"))
KEY_ISSUED = EventType("key.issued", gettext_noop("created a new API key"))
KEY_REPLACED = EventType("key.replaced", gettext_noop("replaced the API key"))
KEY_DROPPED = EventType("key.dropped", gettext_noop("removed the agent’s API key"))
ACCOUNT_CLAIMED = EventType("account.claimed", gettext_noop("claimed the account"))
ACCOUNT_EXPORTED = EventType("account.exported", gettext_noop("exported the whole account"))
ACCOUNT_LIMITED = EventType("account.limited", gettext_noop("set the project limit to %(limit)s"))
ACCOUNT_SUSPENDED = EventType(
    "account.suspended", gettext_noop("suspended the account: %(reason)s")
)
ACCOUNT_RESTORED = EventType("account.restored", gettext_noop("restored the account"))
ACCOUNT_DELETED = EventType("account.deleted", gettext_noop("deleted the account %(account)s"))
PLAN_CHANGED = EventType("plan.changed", gettext_noop("changed the plan to %(plan)s"))
TOKEN_CREATED = EventType("token.created", gettext_noop("created the access token %(token)s"))
TOKEN_REVOKED = EventType("token.revoked", gettext_noop("revoked the access token %(token)s"))
