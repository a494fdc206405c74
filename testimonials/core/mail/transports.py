"""The transports that carry mail, and what a refusal means for the next attempt."""

import logging
import smtplib
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from email.utils import parseaddr
from urllib.parse import unquote, urlsplit

from testimonials.core.mail.messages import write_message
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.core.mail.smtp import Connection, Dialogue, Step, TlsConnection

logger = logging.getLogger("testimonials.mail")

TIMEOUT_SECONDS = 20
# Answers that concern the settings, at whichever step they come: authentication is required, too
# weak, wrong, or needs TLS first.
SETTINGS_CODES = frozenset({530, 534, 535, 538})


@dataclass(eq=False)
class DeliveryFailed(Exception):
    """The mail did not leave.

    `is_permanent` if retrying can't help, `is_outage` if other mail would have failed too.
    """

    problem: str
    is_permanent: bool = False
    is_outage: bool = False

    def __str__(self) -> str:
        return self.problem


class SmtpTransport:
    """Sends over SMTP, with TLS from the start or by STARTTLS as the URL says.

    Each answer of the server may take `timeout` seconds; `dialogue` records what was said.
    """

    def __init__(self, url: str, sender: str, *, timeout: float = TIMEOUT_SECONDS) -> None:
        parts = urlsplit(url)
        self.host = parts.hostname or ""
        self.is_tls = parts.scheme == "smtps"
        self.is_starttls = parts.query == "starttls=1"
        self.port = parts.port or (465 if self.is_tls else 587 if self.is_starttls else 25)
        self.user = unquote(parts.username or "")
        self.password = unquote(parts.password or "")
        self.sender = sender
        self.timeout = timeout
        self.dialogue = Dialogue()

    def send(self, mail: OutboxMail) -> MailState:
        """Send one mail over a connection of its own."""
        try:
            content = write_message(mail, self.sender)
        except ValueError as error:
            raise DeliveryFailed(
                f"The message can't be built: {error}", is_permanent=True
            ) from None
        with self._conversation() as server:
            self._submit(server, mail.recipient, content)
        return MailState.SENT

    def check(self) -> None:
        """Connect, encrypt and log in as for a mail, and send none; raise `DeliveryFailed`."""
        with self._conversation():
            pass

    @contextmanager
    def _conversation(self) -> Iterator[Connection]:
        """Yield a connection that is ready for a mail; raise `DeliveryFailed` for any failure."""
        self.dialogue = Dialogue()
        kind = TlsConnection if self.is_tls else Connection
        try:
            with closing(kind(self.dialogue, self.host, self.port, self.timeout)) as server:
                self._log_in(server)
                yield server
                # The server has the mail by now, whatever it answers to the goodbye.
                server.leave()
        except (smtplib.SMTPException, OSError, ValueError) as error:
            raise self._describe(error) from None

    def _log_in(self, server: Connection) -> None:
        server.ehlo_or_helo_if_needed()
        if self.is_starttls:
            server.starttls(context=ssl.create_default_context())
            server.note_encryption()
            server.ehlo_or_helo_if_needed()
        if self.user:
            self.dialogue.step = Step.LOGIN
            if not (self.user + self.password).isascii():
                raise smtplib.SMTPException("The user and password may only have ASCII letters.")
            server.login(self.user, self.password)

    def _submit(self, server: Connection, recipient: str, content: bytes) -> None:
        options = []
        if not recipient.isascii():
            if not server.has_extn("smtputf8"):
                raise DeliveryFailed(
                    "The mail server can't deliver to addresses with letters outside ASCII.",
                    is_permanent=True,
                )
            options = ["SMTPUTF8", "BODY=8BITMIME"]
        server.sendmail(parseaddr(self.sender)[1], [recipient], content, mail_options=options)

    def _describe(self, error: Exception) -> DeliveryFailed:
        """Return what an error of the conversation means for this mail and for the next ones."""
        step = self.dialogue.step
        answer: bytes | str
        if isinstance(error, smtplib.SMTPRecipientsRefused):
            code, answer = next(iter(error.recipients.values()))
        elif isinstance(error, smtplib.SMTPResponseException):
            code, answer = error.smtp_code, error.smtp_error
        else:
            words = " ".join(str(error).split())[:500] or type(error).__name__
            problem = f"{self.host}:{self.port}: {words}"
            if step is Step.DATA:
                problem += " (while sending the mail, which may arrive twice)"
            return DeliveryFailed(problem, is_outage=True)
        text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
        # Anything else is about the settings or the server, and would stop every mail.
        is_about_mail = step in (Step.RECIPIENT, Step.DATA) and code not in SETTINGS_CODES
        return DeliveryFailed(
            f"{code} {' '.join(text.split())}"[:500],
            is_permanent=is_about_mail and code >= 500,
            is_outage=not is_about_mail,
        )


class LogTransport:
    """Prints mail to the log if no mail server is set."""

    def send(self, mail: OutboxMail) -> MailState:
        logger.info(
            "mail to %s (SMTP_URL is not set; `testimonials mail show %s` shows it again)\n"
            "Subject: %s\n\n%s",
            mail.recipient,
            mail.id,
            mail.subject,
            mail.text,
            extra={"is_mail": True},
        )
        return MailState.PRINTED


Transport = SmtpTransport | LogTransport


def make_transport(smtp_url: str, sender: str) -> Transport:
    """Return the transport that the settings name."""
    return SmtpTransport(smtp_url, sender) if smtp_url else LogTransport()
