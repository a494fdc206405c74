"""Mail: the message, and the transports that carry it."""

import logging
import smtplib
import ssl
from email.errors import MessageError, NonASCIILocalPartDefect
from email.headerregistry import Address, HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8, EmailPolicy
from email.utils import format_datetime, parseaddr
from typing import Protocol
from urllib.parse import unquote, urlsplit

from testimonials.core.outbox import MailState, OutboxMail

logger = logging.getLogger("testimonials.mail")

TIMEOUT_SECONDS = 20


class DeliveryFailed(Exception):
    """The mail did not leave; `is_permanent` when trying again can't help."""

    def __init__(self, problem: str, *, is_permanent: bool) -> None:
        super().__init__(problem)
        self.is_permanent = is_permanent


class Transport(Protocol):
    """Carries mail to where it is read."""

    def send(self, mail: OutboxMail) -> MailState:
        """Send one mail; give the state it reached, or raise `DeliveryFailed`."""
        ...


class _WholeHeader(UnstructuredHeader):
    """A header that stays on one line: the library would write a long address in code words."""

    def fold(self, *, policy: EmailPolicy) -> str:
        return f"{self.name}: {self}{policy.linesep}"  # type: ignore[attr-defined]


_HEADERS = HeaderRegistry()
# The registry makes the header from it and its own base class.
_HEADERS.map_to_type("list-unsubscribe", _WholeHeader)  # type: ignore[arg-type]
_POLICY = SMTP.clone(header_factory=_HEADERS)
_POLICY_UTF8 = SMTPUTF8.clone(header_factory=_HEADERS)


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


class SmtpTransport:
    """Sends over SMTP, with TLS from the start or by STARTTLS as the URL says."""

    def __init__(self, url: str, sender: str) -> None:
        parts = urlsplit(url)
        self.host = parts.hostname or ""
        self.is_tls = parts.scheme == "smtps"
        self.is_starttls = parts.query == "starttls=1"
        self.port = parts.port or (465 if self.is_tls else 587 if self.is_starttls else 25)
        self.user = unquote(parts.username or "")
        self.password = unquote(parts.password or "")
        self.sender = sender

    def send(self, mail: OutboxMail) -> MailState:
        """Send one mail; a connection lives for one mail."""
        try:
            message = build_message(mail, self.sender)
            with self._connect() as server:
                self._submit(server, message)
        except smtplib.SMTPRecipientsRefused as error:
            code, answer = next(iter(error.recipients.values()))
            raise DeliveryFailed(_sentence(code, answer), is_permanent=code >= 500) from None
        except smtplib.SMTPResponseException as error:
            # A wrong password is the operator's to mend; the mail itself is not refused.
            is_permanent = error.smtp_code >= 500 and not isinstance(
                error, smtplib.SMTPAuthenticationError
            )
            raise DeliveryFailed(
                _sentence(error.smtp_code, error.smtp_error), is_permanent=is_permanent
            ) from None
        except (smtplib.SMTPException, OSError) as error:
            raise DeliveryFailed(f"{self.host}:{self.port}: {error}", is_permanent=False) from None
        except ValueError as error:
            raise DeliveryFailed(
                f"The message can't be built: {error}", is_permanent=True
            ) from None
        return MailState.SENT

    def _connect(self) -> smtplib.SMTP:
        context = ssl.create_default_context()
        if self.is_tls:
            return smtplib.SMTP_SSL(self.host, self.port, timeout=TIMEOUT_SECONDS, context=context)
        server = smtplib.SMTP(self.host, self.port, timeout=TIMEOUT_SECONDS)
        if self.is_starttls:
            try:
                server.starttls(context=context)
            except BaseException:
                server.close()
                raise
        return server

    def _submit(self, server: smtplib.SMTP, message: EmailMessage) -> None:
        if self.user:
            server.login(self.user, self.password)
        address = str(message["To"])
        if address.isascii():
            server.send_message(message)
            return
        server.ehlo_or_helo_if_needed()
        if not server.has_extn("smtputf8"):
            raise DeliveryFailed(
                "The mail server can't deliver to addresses with letters outside ASCII.",
                is_permanent=True,
            )
        server.sendmail(
            parseaddr(self.sender)[1],
            [address],
            message.as_bytes(policy=_POLICY_UTF8),
            mail_options=["SMTPUTF8", "BODY=8BITMIME"],
        )


class LogTransport:
    """Prints mail to the log where no mail server is set."""

    def send(self, mail: OutboxMail) -> MailState:
        """Print one mail."""
        logger.info(
            "mail to %s (no SMTP_URL is set; `testimonials mail show %s` shows it again)\n"
            "Subject: %s\n\n%s",
            mail.recipient,
            mail.id,
            mail.subject,
            mail.text,
        )
        return MailState.PRINTED


def make_transport(smtp_url: str, sender: str) -> Transport:
    """Give the transport that the settings name."""
    return SmtpTransport(smtp_url, sender) if smtp_url else LogTransport()


def _sentence(code: int, answer: bytes | str) -> str:
    text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
    return f"{code} {' '.join(text.split())}"[:500]
