"""The message of a mail: its headers, its text and its HTML."""

from email.errors import MessageError, NonASCIILocalPartDefect
from email.headerregistry import Address, HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8, EmailPolicy
from email.utils import format_datetime, parseaddr

from testimonials.core.outbox import OutboxMail


class _WholeHeader(UnstructuredHeader):
    """A header that stays on one line: the library would write a long address in code words."""

    def fold(self, *, policy: EmailPolicy) -> str:
        return f"{self.name}: {self}{policy.linesep}"  # type: ignore[attr-defined]


_HEADERS = HeaderRegistry()
# The registry makes the header from it and its own base class.
_HEADERS.map_to_type("list-unsubscribe", _WholeHeader)  # type: ignore[arg-type]
_POLICY = SMTP.clone(header_factory=_HEADERS)
POLICY_UTF8 = SMTPUTF8.clone(header_factory=_HEADERS)


def build_message(mail: OutboxMail, sender: str) -> EmailMessage:
    """Make the message of a mail: text first, HTML as its alternative.

    Raises `ValueError` for an address or a subject that no header can hold.
    """
    name, address = parseaddr(sender)
    message = EmailMessage(policy=_POLICY)
    message["From"] = make_address(address, name)
    message["To"] = make_address(mail.recipient)
    message["Subject"] = mail.subject
    # A header can't hold other letters in it, unless the receiver's server takes them too.
    if mail.reply_to and mail.reply_to.isascii():
        message["Reply-To"] = make_address(mail.reply_to)
    message["Date"] = format_datetime(mail.created_at)
    # The same on each attempt, so that a receiver can tell a repetition.
    message["Message-ID"] = f"<{mail.id}@{address.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    if mail.list_unsubscribe:
        message["List-Unsubscribe"] = f"<{mail.list_unsubscribe}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message.set_content(mail.text)
    message.add_alternative(mail.html, subtype="html")
    return message


def make_address(address: str, name: str = "") -> Address:
    """Give the one mailbox of `address`, also one with letters outside ASCII.

    Raises `ValueError` for anything else.
    """
    local, _, domain = address.rpartition("@")
    try:
        return Address(display_name=name, addr_spec=address)
    except NonASCIILocalPartDefect:
        # The library takes such a name in its parts only.
        return Address(display_name=name, username=local, domain=domain)
    except (IndexError, MessageError):
        raise ValueError(f"{address!r} is no e-mail address") from None
