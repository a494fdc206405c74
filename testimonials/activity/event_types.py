"""The types of events, by the names under which they are stored."""

from enum import StrEnum


class EventType(StrEnum):
    """What happened: the subject, then what became of it. A name never changes its meaning.

    `sentence` describes it, with the names of the event's details in braces.
    """

    sentence: str

    def __new__(cls, name: str, sentence: str = "") -> "EventType":
        member = str.__new__(cls, name)
        member._value_, member.sentence = name, sentence
        return member

    SESSION_STARTED = "session.started", "signed in by {means}"
    SESSION_REFUSED = "session.refused", "tried to sign in with a wrong password"
    SESSION_ENDED = "session.ended", "signed out {which}"
    PASSWORD_CHANGED = "password.changed", "changed the password"
    PASSWORD_RESET = "password.reset", "chose a new password through a mailed link"
    PASSWORD_REMOVED = "password.removed", "did without a password"
    PASSWORD_REFUSED = "password.refused", "entered a wrong password while signed in"
    COMPANY_LINKED = "company.linked", "linked the company account {who}"
    COMPANY_UNLINKED = "company.unlinked", "unlinked the company account {who}"
    COMPANY_ROLE_CHANGED = (
        "company.role",
        "gave {email} the role of their groups: {role}",
    )
    COMPANY_REFUSED = "company.refused", "was refused by the company’s sign-in: {reason}"
    PASSKEY_ADDED = "passkey.added", "added the passkey {passkey}"
    PASSKEY_RENAMED = "passkey.renamed", "renamed the passkey {old} to {passkey}"
    PASSKEY_REMOVED = "passkey.removed", "removed the passkey {passkey}"
    PASSKEY_REFUSED = "passkey.refused", "tried a passkey that was not accepted"
    APP_CONNECTED = "app.connected", "connected an authenticator app"
    APP_REMOVED = "app.removed", "turned the authenticator app off"
    CODE_REFUSED = "code.refused", "entered a wrong code"
    RECOVERY_CODES_MADE = "codes.made", "made new recovery codes"
    RECOVERY_CODE_USED = "codes.used", "used a recovery code, {left} left"
    SIGN_IN_RESET = "sign_in.reset", "removed passkeys and the authenticator app"
    STRONG_REQUIRED = "sign_in.required", "asked everybody for more than a password"
    STRONG_NOT_REQUIRED = "sign_in.relaxed", "let everybody sign in with a password alone"
    ADDRESS_REQUESTED = "address.requested", "asked to change the email address to {email}"
    ADDRESS_CHANGED = "address.changed", "changed the email address from {old} to {email}"
    ADDRESS_RESTORED = "address.restored", "moved the account back from {old} to {email}"
    NAME_CHANGED = "account.renamed", "changed the display name to {name}"
    KEY_ISSUED = "key.issued", "created a new API key"
    KEY_REPLACED = "key.replaced", "replaced the API key"
    KEY_DROPPED = "key.dropped", "removed the agent’s API key"
    ACCOUNT_CLAIMED = "account.claimed", "claimed the account"
    ACCOUNT_EXPORTED = "account.exported", "exported the whole account"
    ACCOUNT_LIMITED = "account.limited", "set the project limit to {limit}"
    ACCOUNT_SUSPENDED = "account.suspended", "suspended the account: {reason}"
    ACCOUNT_RESTORED = "account.restored", "restored the account"
    ACCOUNT_DELETED = "account.deleted", "deleted the account {account}"
    PLAN_CHANGED = "plan.changed", "changed the plan to {plan}"
    INVITATION_SENT = "invitation.sent", "invited {email} as {role}"
    INVITATION_ACCEPTED = "invitation.accepted", "accepted the invitation to {email}"
    INVITATION_DECLINED = "invitation.declined", "declined the invitation to {email}"
    INVITATION_WITHDRAWN = "invitation.withdrawn", "withdrew the invitation to {email}"
    MEMBER_CHANGED = "member.changed", "changed the role of {email} to {role}"
    MEMBER_REMOVED = "member.removed", "removed {email} (…{member}) from the team"
    MEMBER_LEFT = "member.left", "left the team"
    OWNERSHIP_OFFERED = "ownership.offered", "offered {name} to {email}"
    OWNERSHIP_WITHDRAWN = "ownership.withdrawn", "withdrew the offer of {name}"
    OWNERSHIP_DECLINED = "ownership.declined", "declined the offer of {name}"
    OWNERSHIP_TAKEN = "ownership.taken", "handed {name} over from {old} to {email}"
    PROJECT_CREATED = "project.created", "created {name}"
    PROJECT_CHANGED = "project.changed", "changed the settings"
    PROJECT_RENAMED = "project.renamed", "changed the page’s address from {old} to {slug}"
    DOMAIN_ADDED = "domain.added", "chose the host name {host}"
    DOMAIN_VERIFIED = "domain.verified", "proved that the host name {host} is theirs"
    DOMAIN_LOST = "domain.lost", "lost the host name {host}: its TXT record is gone"
    DOMAIN_REMOVED = "domain.removed", "removed the host name {host}"
    PROJECT_PAUSED = "project.paused", "paused the project"
    PROJECT_RESUMED = "project.resumed", "resumed the project"
    PROJECT_EXPORTED = "project.exported", "exported the project as {form}"
    PROJECT_IMPORTED = "project.imported", "imported {name} from an archive"
    PROJECT_DELETED = "project.deleted", "deleted {name}"
    PROJECT_RESTORED = "project.restored", "restored {name}"
    PAGE_CHANGED = "page.changed", "changed the collection page"
    FORM_ADDED = "form.added", "added the form {form}"
    FORM_CHANGED = "form.changed", "changed the form {form}"
    FORM_DELETED = "form.deleted", "deleted the form {form}"
    WIDGET_CHANGED = "widget.changed", "changed the widget"
    WIDGET_SAVED = "widget.saved", "saved the widget {widget}"
    WIDGET_RENAMED = "widget.renamed", "renamed the widget {old} to {widget}"
    WIDGET_DELETED = "widget.deleted", "deleted the widget {widget}"
    REQUESTS_SENT = "requests.sent", "requested testimonials by mail: {count}"
    REQUESTS_CANCELLED = "requests.cancelled", "cancelled waiting requests: {count}"
    REQUEST_ANSWERED = "request.answered", "answered a request by mail"
    TESTIMONIAL_CREATED = "testimonial.created", "added {testimonials}"
    TESTIMONIAL_SUBMITTED = "testimonial.submitted", "{did} {testimonials}"
    TESTIMONIAL_APPROVED = "testimonial.approved", "approved {testimonials}"
    TESTIMONIAL_REJECTED = "testimonial.rejected", "rejected {testimonials}"
    TESTIMONIAL_UPDATED = "testimonial.updated", "{did} {testimonials}"
    TESTIMONIAL_DELETED = "testimonial.deleted", "deleted {testimonials}"
    TESTIMONIAL_WITHDRAWN = "testimonial.withdrawn", "withdrew {testimonials}"
    AUTHOR_THANKED = "author.thanked", "thanked an author by mail"
    REPLY_CHANGED = "reply.changed", "changed the public reply to a testimonial"
    TESTIMONIALS_IMPORTED = "testimonials.imported", "imported testimonials: {count}"
    TESTIMONIALS_DELETED = "testimonials.deleted", "deleted testimonials: {count}"
    SAMPLES_DELETED = "samples.deleted", "deleted samples: {count}"
    PROPOSAL_MADE = "proposal.made", "proposed: {title}"
    PROPOSAL_DECIDED = "proposal.decided", "{status} the proposal: {title}"
    PROPOSAL_WITHDRAWN = "proposal.withdrawn", "withdrew the proposal: {title}"
    TOKEN_CREATED = "token.created", "created the access token {token}"
    TOKEN_REVOKED = "token.revoked", "revoked the access token {token}"
    ACCESS_REQUESTED = "access.requested", "asked for an access token: {token}"
    ACCESS_DECLINED = "access.declined", "declined a request for access: {token}"
    PURCHASES_CHANGED = "purchases.changed", "changed the secret of links that prove a purchase"
    WEBHOOK_ADDED = "webhook.added", "added the webhook endpoint {url}"
    WEBHOOK_CHANGED = "webhook.changed", "changed the webhook endpoint {url}"
    WEBHOOK_ROTATED = "webhook.rotated", "replaced the secret of the webhook endpoint {url}"
    WEBHOOK_STOPPED = "webhook.stopped", "switched off the webhook endpoint {url}"
    WEBHOOK_REMOVED = "webhook.removed", "removed the webhook endpoint {url}"
    REPORT_SENT = "report.sent", "reported the page {slug}"
    REPORT_SETTLED = "report.settled", "settled a report"
    TEXTS_READ = "texts.read", "read a testimonial: {reason}"
    MAIL_RETRIED = "mail.retried", "tried waiting mail again: {count}"
    MAIL_DROPPED = "mail.dropped", "dropped mail that had not left: {count}"
    BACKUP_ASKED = "backup.asked", "asked for a backup"
    REHEARSAL_ASKED = "backup.tried", "asked for a restore to be tried"
    BACKUPS_DROPPED = "backup.dropped", "dropped old backups: {count}"
    AUTHOR_EXPORTED = "author.exported", "exported the data of a person with testimonials: {count}"
    AUTHOR_ERASED = "author.erased", "erased an author with testimonials: {count}"


# Of these, the same by the same actor from the same network within an hour is one event with a
# count: guessing passwords can't fill the disk, an editor that saves by itself can't fill the page,
# and an import in many parts is one line.
COUNTED = {
    EventType.SESSION_REFUSED,
    EventType.PASSWORD_REFUSED,
    EventType.COMPANY_REFUSED,
    EventType.REPORT_SENT,
    EventType.PROJECT_CHANGED,
    EventType.PAGE_CHANGED,
    EventType.FORM_CHANGED,
    EventType.WIDGET_CHANGED,
    EventType.TESTIMONIALS_IMPORTED,
}
# Of these, those of which only the number matters, not when each happened.
GUESSES = {
    EventType.SESSION_REFUSED,
    EventType.PASSWORD_REFUSED,
    EventType.PASSKEY_REFUSED,
    EventType.CODE_REFUSED,
}
# The subjects that the filter offers as one.
GROUPS = {
    "Sign-ins": ("session", "company", "passkey", "app", "code", "codes", "sign_in"),
    "Account": ("account", "password", "address", "key", "plan"),
    "Team": ("invitation", "member", "ownership"),
    "Projects": ("project", "page", "form", "widget", "domain"),
    "Testimonials": (
        *("testimonial", "testimonials", "samples", "requests", "request", "author", "reply"),
    ),
    "Operator": ("report", "texts", "mail", "backup"),
    "Integrations": ("proposal", "token", "access", "purchases", "webhook"),
}
