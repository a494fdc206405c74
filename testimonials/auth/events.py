"""The types of events about accounts: signing in, keys, tokens and plans."""

from testimonials.core.audit import EventType, OperatorEventType

SESSION_STARTED = EventType("session.started", "signed in by %(means)s")
SESSION_REFUSED = EventType(
    "session.refused", "tried to sign in with a wrong password", is_counted=True, is_guess=True
)
SESSION_ENDED = EventType("session.ended", "signed out %(which)s")
PASSWORD_CHANGED = EventType("password.changed", "changed the password")
PASSWORD_RESET = EventType("password.reset", "reset the password by email")
PASSWORD_REMOVED = EventType("password.removed", "removed the password")
PASSWORD_REFUSED = EventType(
    "password.refused", "entered a wrong password while signed in", is_counted=True, is_guess=True
)
COMPANY_LINKED = EventType("company.linked", "linked the company account %(who)s")
COMPANY_UNLINKED = EventType("company.unlinked", "unlinked the company account %(who)s")
COMPANY_ROLE_CHANGED = EventType(
    "company.role", "gave %(email)s the role of their groups: “%(role)s”"
)
COMPANY_REFUSED = EventType(
    "company.refused", "was refused by the company’s sign-in: %(reason)s", is_counted=True
)
PASSKEY_ADDED = EventType("passkey.added", "added the passkey %(passkey)s")
PASSKEY_RENAMED = EventType("passkey.renamed", "renamed the passkey %(old)s to %(passkey)s")
PASSKEY_REMOVED = EventType("passkey.removed", "removed the passkey %(passkey)s")
PASSKEY_REFUSED = EventType(
    "passkey.refused", "tried a passkey that was not accepted", is_guess=True
)
APP_CONNECTED = EventType("app.connected", "connected an authenticator app")
APP_REMOVED = EventType("app.removed", "turned off the authenticator app")
CODE_REFUSED = EventType("code.refused", "entered a wrong code", is_guess=True)
RECOVERY_CODES_MADE = EventType("codes.made", "created new recovery codes")
RECOVERY_CODE_USED = EventType("codes.used", "used a recovery code, %(left)s left")
SIGN_IN_RESET = EventType("sign_in.reset", "removed passkeys and the authenticator app")
STRONG_REQUIRED = EventType("sign_in.required", "required more than a password")
STRONG_NOT_REQUIRED = EventType("sign_in.relaxed", "allowed passwords alone")
ADDRESS_REQUESTED = EventType("address.requested", "asked to change the email address to %(email)s")
ADDRESS_CHANGED = EventType(
    "address.changed", "changed the email address from %(old)s to %(email)s"
)
NAME_CHANGED = EventType("account.renamed", "changed the display name to %(name)s")
KEY_ISSUED = EventType("key.issued", "created a new API key")
KEY_REPLACED = EventType("key.replaced", "replaced the API key")
KEY_DROPPED = EventType("key.dropped", "removed the agent’s API key")
ACCOUNT_CLAIMED = EventType("account.claimed", "claimed the account")
ACCOUNT_EXPORTED = EventType("account.exported", "exported the whole account")
ACCOUNT_LIMITED = EventType("account.limited", "set the project limit to %(limit)s")
ACCOUNT_SUSPENDED = EventType("account.suspended", "suspended the account: %(reason)s")
ACCOUNT_RESTORED = EventType("account.restored", "restored the account")
ACCOUNT_DELETED = OperatorEventType("account.deleted", "deleted the account %(account)s")
PLAN_CHANGED = EventType("plan.changed", "changed the plan to %(plan)s")
TOKEN_CREATED = EventType("token.created", "created the access token %(token)s")
TOKEN_REVOKED = EventType("token.revoked", "revoked the access token %(token)s")
