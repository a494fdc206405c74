"""The rate limits of this feature (spec, "Limits"; decisions, "Accounts, keys, claiming")."""

from testimonials.core.http.rate_limits import Limit

AGENT_INIT_PER_ADDRESS = Limit("agent-init-ip", 5, "from one IP address")
AGENT_INIT_PER_EMAIL = Limit("agent-init-email", 3, "for one e-mail address")
LINK_PER_ADDRESS = Limit("claim-link-ip", 10, "from one IP address")
LINK_PER_EMAIL = Limit("claim-link-email", 3, "for one e-mail address")
# Past these no mail is sent, silently: the owner of the mailbox has links that work.
LINK_PER_NETWORK = Limit("link-network", 3, "for one mailbox from one network")
LINK_PER_MAILBOX = Limit("link-mailbox", 6, "for one mailbox")
LINK_PER_BROWSER = Limit("link-browser", 3, "from one browser")
CLAIM_PER_ADDRESS = Limit("claim-ip", 60, "from one IP address")
COMPANY_PER_ADDRESS = Limit("company-ip", 120, "from one IP address")
SIGN_IN_PER_ADDRESS = Limit("sign-in-ip", 60, "from one IP address")

# Wrong passwords. A known browser has its own budget, so strangers can't lock it out; a new browser
# shares one with its network. Once that is used up, each address in it that has guessed nothing
# wrong for a day still has one attempt: a person who knows the password needs no more.
SIGN_IN_PER_BROWSER = Limit("sign-in-browser", 20, "from one browser")
SIGN_IN_PER_NETWORK = Limit("sign-in-network", 20, "for one account from one network")
SIGN_IN_UNGUESSED = Limit("sign-in-unguessed", 1, "for one account from one address", hours=24)
# Past this many within a day, somebody is guessing from many networks. Each network then gets only
# a few tries a day, which slows thousands of them down and still lets the owner in.
SIGN_IN_PER_ACCOUNT = Limit("sign-in-account", 100, "for one account", hours=24)
SIGN_IN_GUESSED_AT = Limit("sign-in-guessed-at", 3, "for one account from one network", hours=24)
# Wrong codes of the authenticator app, by somebody who knows the password: of a million codes three
# are right at any time.
CODES_PER_BROWSER = Limit("codes-browser", 10, "from one browser")
CODES_PER_ACCOUNT = Limit("codes-account", 10, "for one account")
CONFIRM_PER_SESSION = Limit("confirm-session", 20, "from one browser")
