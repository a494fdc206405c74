"""The types of events, by the names under which they are stored."""

from enum import StrEnum

from testimonials.core.http.i18n import gettext_noop


class EventType(StrEnum):
    """What happened: the subject, then what became of it. A name never changes its meaning.

    `sentence` describes it, with the names of the event's details as %(name)s;
    those of testimonials are in `auth.events`.
    """

    sentence: str

    def __new__(cls, name: str, sentence: str = "") -> "EventType":
        member = str.__new__(cls, name)
        member._value_, member.sentence = name, sentence
        return member

    SESSION_STARTED = "session.started", gettext_noop("signed in by %(means)s")
    SESSION_REFUSED = "session.refused", gettext_noop("tried to sign in with a wrong password")
    SESSION_ENDED = "session.ended", gettext_noop("signed out %(which)s")
    PASSWORD_CHANGED = "password.changed", gettext_noop("changed the password")
    PASSWORD_RESET = "password.reset", gettext_noop("chose a new password through a mailed link")
    PASSWORD_REMOVED = "password.removed", gettext_noop("did without a password")
    PASSWORD_REFUSED = "password.refused", gettext_noop("entered a wrong password while signed in")
    COMPANY_LINKED = "company.linked", gettext_noop("linked the company account %(who)s")
    COMPANY_UNLINKED = "company.unlinked", gettext_noop("unlinked the company account %(who)s")
    COMPANY_ROLE_CHANGED = (
        "company.role",
        gettext_noop("gave %(email)s the role of their groups: %(role)s"),
    )
    COMPANY_REFUSED = (
        "company.refused",
        gettext_noop("was refused by the company’s sign-in: %(reason)s"),
    )
    PASSKEY_ADDED = "passkey.added", gettext_noop("added the passkey %(passkey)s")
    PASSKEY_RENAMED = "passkey.renamed", gettext_noop("renamed the passkey %(old)s to %(passkey)s")
    PASSKEY_REMOVED = "passkey.removed", gettext_noop("removed the passkey %(passkey)s")
    PASSKEY_REFUSED = "passkey.refused", gettext_noop("tried a passkey that was not accepted")
    APP_CONNECTED = "app.connected", gettext_noop("connected an authenticator app")
    APP_REMOVED = "app.removed", gettext_noop("turned the authenticator app off")
    CODE_REFUSED = "code.refused", gettext_noop("entered a wrong code")
    RECOVERY_CODES_MADE = "codes.made", gettext_noop("made new recovery codes")
    RECOVERY_CODE_USED = "codes.used", gettext_noop("used a recovery code, %(left)s left")
    SIGN_IN_RESET = "sign_in.reset", gettext_noop("removed passkeys and the authenticator app")
    STRONG_REQUIRED = "sign_in.required", gettext_noop("asked everybody for more than a password")
    STRONG_NOT_REQUIRED = (
        "sign_in.relaxed",
        gettext_noop("let everybody sign in with a password alone"),
    )
    ADDRESS_REQUESTED = (
        "address.requested",
        gettext_noop("asked to change the email address to %(email)s"),
    )
    ADDRESS_CHANGED = (
        "address.changed",
        gettext_noop("changed the email address from %(old)s to %(email)s"),
    )
    NAME_CHANGED = "account.renamed", gettext_noop("changed the display name to %(name)s")
    KEY_ISSUED = "key.issued", gettext_noop("created a new API key")
    KEY_REPLACED = "key.replaced", gettext_noop("replaced the API key")
    KEY_DROPPED = "key.dropped", gettext_noop("removed the agent’s API key")
    ACCOUNT_CLAIMED = "account.claimed", gettext_noop("claimed the account")
    ACCOUNT_EXPORTED = "account.exported", gettext_noop("exported the whole account")
    ACCOUNT_LIMITED = "account.limited", gettext_noop("set the project limit to %(limit)s")
    ACCOUNT_SUSPENDED = "account.suspended", gettext_noop("suspended the account: %(reason)s")
    ACCOUNT_RESTORED = "account.restored", gettext_noop("restored the account")
    ACCOUNT_DELETED = "account.deleted", gettext_noop("deleted the account %(account)s")
    PLAN_CHANGED = "plan.changed", gettext_noop("changed the plan to %(plan)s")
    INVITATION_SENT = "invitation.sent", gettext_noop("invited %(email)s as %(role)s")
    INVITATION_ACCEPTED = (
        "invitation.accepted",
        gettext_noop("accepted the invitation to %(email)s"),
    )
    INVITATION_DECLINED = (
        "invitation.declined",
        gettext_noop("declined the invitation to %(email)s"),
    )
    INVITATION_WITHDRAWN = (
        "invitation.withdrawn",
        gettext_noop("withdrew the invitation to %(email)s"),
    )
    MEMBER_CHANGED = "member.changed", gettext_noop("changed the role of %(email)s to %(role)s")
    MEMBER_REMOVED = "member.removed", gettext_noop("removed %(email)s (…%(member)s) from the team")
    MEMBER_LEFT = "member.left", gettext_noop("left the team")
    OWNERSHIP_OFFERED = "ownership.offered", gettext_noop("offered %(name)s to %(email)s")
    OWNERSHIP_WITHDRAWN = "ownership.withdrawn", gettext_noop("withdrew the offer of %(name)s")
    OWNERSHIP_DECLINED = "ownership.declined", gettext_noop("declined the offer of %(name)s")
    OWNERSHIP_TAKEN = (
        "ownership.taken",
        gettext_noop("handed %(name)s over from %(old)s to %(email)s"),
    )
    PROJECT_CREATED = "project.created", gettext_noop("created %(name)s")
    PROJECT_CHANGED = "project.changed", gettext_noop("changed the settings")
    PROJECT_RENAMED = (
        "project.renamed",
        gettext_noop("changed the page’s address from %(old)s to %(slug)s"),
    )
    DOMAIN_ADDED = "domain.added", gettext_noop("chose the host name %(host)s")
    DOMAIN_VERIFIED = (
        "domain.verified",
        gettext_noop("proved that the host name %(host)s is theirs"),
    )
    DOMAIN_LOST = "domain.lost", gettext_noop("lost the host name %(host)s: its TXT record is gone")
    DOMAIN_REMOVED = "domain.removed", gettext_noop("removed the host name %(host)s")
    PROJECT_PAUSED = "project.paused", gettext_noop("paused the project")
    PROJECT_RESUMED = "project.resumed", gettext_noop("resumed the project")
    PROJECT_EXPORTED = "project.exported", gettext_noop("exported the project as an archive")
    PROJECT_IMPORTED = "project.imported", gettext_noop("imported %(name)s from an archive")
    PROJECT_DELETED = "project.deleted", gettext_noop("deleted %(name)s")
    PROJECT_RESTORED = "project.restored", gettext_noop("restored %(name)s")
    PAGE_CHANGED = "page.changed", gettext_noop("changed the collection page")
    FORM_ADDED = "form.added", gettext_noop("added the form %(form)s")
    FORM_CHANGED = "form.changed", gettext_noop("changed the form %(form)s")
    FORM_DELETED = "form.deleted", gettext_noop("deleted the form %(form)s")
    WIDGET_CHANGED = "widget.changed", gettext_noop("changed the widget")
    WIDGET_SAVED = "widget.saved", gettext_noop("saved the widget %(widget)s")
    WIDGET_RENAMED = "widget.renamed", gettext_noop("renamed the widget %(old)s to %(widget)s")
    WIDGET_DELETED = "widget.deleted", gettext_noop("deleted the widget %(widget)s")
    REQUESTS_SENT = "requests.sent", gettext_noop("requested testimonials by mail: %(count)s")
    REQUESTS_CANCELLED = "requests.cancelled", gettext_noop("cancelled waiting requests: %(count)s")
    REQUEST_ANSWERED = "request.answered", gettext_noop("answered a request by mail")
    TESTIMONIAL_CREATED = "testimonial.created"
    TESTIMONIAL_SUBMITTED = "testimonial.submitted"
    TESTIMONIAL_APPROVED = "testimonial.approved"
    TESTIMONIAL_REJECTED = "testimonial.rejected"
    TESTIMONIAL_UPDATED = "testimonial.updated"
    TESTIMONIAL_DELETED = "testimonial.deleted"
    TESTIMONIAL_WITHDRAWN = "testimonial.withdrawn"
    AUTHOR_THANKED = "author.thanked", gettext_noop("thanked an author by mail")
    REPLY_CHANGED = "reply.changed", gettext_noop("changed the public reply to a testimonial")
    TESTIMONIALS_IMPORTED = (
        "testimonials.imported",
        gettext_noop("imported testimonials: %(count)s"),
    )
    TESTIMONIALS_DELETED = "testimonials.deleted", gettext_noop("deleted testimonials: %(count)s")
    SAMPLES_DELETED = "samples.deleted", gettext_noop("deleted samples: %(count)s")
    PROPOSAL_MADE = "proposal.made", gettext_noop("proposed: %(title)s")
    PROPOSAL_DECIDED = "proposal.decided", gettext_noop("accepted the proposal: %(title)s")
    PROPOSAL_WITHDRAWN = "proposal.withdrawn", gettext_noop("withdrew the proposal: %(title)s")
    TOKEN_CREATED = "token.created", gettext_noop("created the access token %(token)s")
    TOKEN_REVOKED = "token.revoked", gettext_noop("revoked the access token %(token)s")
    PURCHASES_CHANGED = (
        "purchases.changed",
        gettext_noop("changed the secret of links that prove a purchase"),
    )
    WEBHOOK_ADDED = "webhook.added", gettext_noop("added the webhook endpoint %(url)s")
    WEBHOOK_CHANGED = "webhook.changed", gettext_noop("changed the webhook endpoint %(url)s")
    WEBHOOK_ROTATED = (
        "webhook.rotated",
        gettext_noop("replaced the secret of the webhook endpoint %(url)s"),
    )
    WEBHOOK_STOPPED = "webhook.stopped", gettext_noop("switched off the webhook endpoint %(url)s")
    WEBHOOK_REMOVED = "webhook.removed", gettext_noop("removed the webhook endpoint %(url)s")
    REPORT_SENT = "report.sent", gettext_noop("reported the page %(slug)s")
    REPORT_SETTLED = "report.settled", gettext_noop("settled a report")
    TEXTS_READ = "texts.read", gettext_noop("read a testimonial: %(reason)s")
    MAIL_RETRIED = "mail.retried", gettext_noop("tried waiting mail again: %(count)s")
    MAIL_DROPPED = "mail.dropped", gettext_noop("dropped mail that had not left: %(count)s")
    AUTHOR_EXPORTED = (
        "author.exported",
        gettext_noop("exported the data of a person with testimonials: %(count)s"),
    )
    AUTHOR_ERASED = "author.erased", gettext_noop("erased an author with testimonials: %(count)s")


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
    gettext_noop("Sign-ins"): ("session", "company", "passkey", "app", "code", "codes", "sign_in"),
    gettext_noop("Account"): ("account", "password", "address", "key", "plan"),
    gettext_noop("Team"): ("invitation", "member", "ownership"),
    gettext_noop("Projects"): ("project", "page", "form", "widget", "domain"),
    gettext_noop("Testimonials"): (
        *("testimonial", "testimonials", "samples", "requests", "request", "author", "reply"),
    ),
    gettext_noop("Operator"): ("report", "texts", "mail"),
    gettext_noop("Integrations"): ("proposal", "token", "purchases", "webhook"),
}
