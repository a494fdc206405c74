"""The rate limits of this feature (spec, "Limits"; decisions, "Accounts, keys, claiming")."""

from testimonials.core.web.rate_limits import Limit

AGENT_INIT_PER_ADDRESS = Limit("agent-init-ip", 5, "from one IP address")
AGENT_INIT_PER_EMAIL = Limit("agent-init-email", 3, "for one e-mail address")
LINK_PER_ADDRESS = Limit("claim-link-ip", 10, "from one IP address")
LINK_PER_EMAIL = Limit("claim-link-email", 3, "for one e-mail address")
# Past these no mail is sent, and nobody is told: whoever has the mailbox holds links that work.
LINK_PER_NETWORK = Limit("link-network", 3, "for one mailbox from one network")
LINK_PER_MAILBOX = Limit("link-mailbox", 6, "for one mailbox")
LINK_PER_BROWSER = Limit("link-browser", 3, "from one browser")
CLAIM_PER_ADDRESS = Limit("claim-ip", 60, "from one IP address")
SIGN_IN_PER_ADDRESS = Limit("sign-in-ip", 60, "from one IP address")

# Wrong passwords. Nobody but the owner ever counts against a browser of theirs, so whatever others
# try, it gets in; a new browser shares the budget of its network alone.
SIGN_IN_PER_BROWSER = Limit("sign-in-browser", 20, "from one browser")
SIGN_IN_PER_NETWORK = Limit("sign-in-network", 20, "for one account from one network")
# Past this many within a day, from wherever they came, somebody guesses from many networks, and
# each network gets a few tries a day: thousands of them are slowed, and the owner gets in still.
SIGN_IN_PER_ACCOUNT = Limit("sign-in-account", 100, "for one account", hours=24)
SIGN_IN_GUESSED_AT = Limit("sign-in-guessed-at", 3, "for one account from one network", hours=24)
CONFIRM_PER_SESSION = Limit("confirm-session", 20, "from one browser")
