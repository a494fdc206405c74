"""The rate limits of this feature: how many mails one account can make the service send."""

from testimonials.core.web.rate_limits import Limit

INVITE_PER_ACCOUNT = Limit("invite-account", 30, "from one account")
INVITE_PER_EMAIL = Limit("invite-email", 5, "for one e-mail address")
INVITATION_PER_ADDRESS = Limit("invitation-ip", 60, "from one IP address")
