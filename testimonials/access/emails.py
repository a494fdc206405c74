"""The mail about a request for access."""

from testimonials.access.models import AccessRequest
from testimonials.access.scopes import NEVER, Scope
from testimonials.auth.emails import send_plain_mail


def send_access_request_mail(email: str, asked: AccessRequest) -> None:
    """Tell the owner what an agent asks for, and where to decide."""
    wanted = [Scope(each) for each in asked.scopes]
    send_plain_mail(
        email,
        "access-request",
        f"{asked.name} asks for access",
        [
            f"An agent that already has a credential of your account asks for an access token "
            f"named “{asked.name}”. It wants to:",
            *(f"{each.label}: {each.sentence}" for each in wanted),
            f"It gives this reason: “{asked.reason}”",
            f"You choose what it gets, for which project and for how long. {NEVER}",
        ],
        footnote="The request ends by itself after three days. Until you grant it, nothing "
        "changes. If you don’t know what this is about, decline it there.",
        link=asked.url,
        button="Look at the request",
    )
