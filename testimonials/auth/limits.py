"""The rate limits of this feature (spec, "Limits"; decisions, "Accounts, keys, claiming")."""

from testimonials.core.ratelimit import Limit

AGENT_INIT_PER_ADDRESS = Limit("agent-init-ip", 5, "from one IP address")
AGENT_INIT_PER_EMAIL = Limit("agent-init-email", 3, "for one e-mail address")
LINK_PER_ADDRESS = Limit("claim-link-ip", 10, "from one IP address")
LINK_PER_EMAIL = Limit("claim-link-email", 3, "for one e-mail address")
CLAIM_PER_ADDRESS = Limit("claim-ip", 60, "from one IP address")
SIGN_IN_PER_ADDRESS = Limit("sign-in-ip", 60, "from one IP address")
SIGN_IN_PER_EMAIL = Limit("sign-in-email", 20, "for one e-mail address")
