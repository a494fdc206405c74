"""Mail: the transports that carry a message, and what a refusal means for the next attempt."""

import logging
import smtplib
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parseaddr
from typing import Protocol
from urllib.parse import unquote, urlsplit

from testimonials.core.mail.handover import Stage
from testimonials.core.mail.messages import write_message
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.core.mail.smtp import Connection, Dialogue, Step, TlsConnection

logger = logging.getLogger("testimonials.mail")

TIMEOUT_SECONDS = 20
# The whole of one mail, so that no server holds it longer than its lease, whatever it does.
LONGEST_SECONDS = 150
# Refusals that tell of the settings, wherever a server gives them: authentication is wanted, too
# weak, wrong, or needs TLS first.
SETTINGS_CODES = frozenset({530, 534, 535, 538})


class DeliveryFailed(Exception):
    """The mail did not leave.

    `is_permanent` when trying again can't help; `is_outage` when no other mail would have left
    either; `failure` tells at which step of the conversation it happened.
    """

    def __init__(
        self,
        problem: str,
        *,
        is_permanent: bool,
        is_outage: bool = False,
        failure: "Failure | None" = None,
    ) -> None:
        super().__init__(problem)
        self.is_permanent = is_permanent
        self.is_outage = is_outage
        self.failure = failure


@dataclass(frozen=True)
class Failure:
    """Where a conversation with a mail server ended, and by what."""

    step: Step
    error: Exception
    # The server's answer, where it gave one.
    code: int = 0
    answer: str = ""


def _note_nothing(_stage: Stage) -> None:
    pass


class Transport(Protocol):
    """Carries mail to where it is read."""

    def send(self, mail: OutboxMail, note: Callable[[Stage], object] = _note_nothing) -> MailState:
        """Send one mail; return the state it reached, or raise `DeliveryFailed`.

        `note` is told how far it is.
        """
        ...


class SmtpTransport:
    """Sends over SMTP, with TLS from the start or by STARTTLS as the URL says.

    `timeout` is for each answer of the server, in seconds; `dialogue` keeps what was said.
    """

    def __init__(
        self,
        url: str,
        sender: str,
        *,
        timeout: float = TIMEOUT_SECONDS,
        longest: float = LONGEST_SECONDS,
    ) -> None:
        parts = urlsplit(url)
        self.host = parts.hostname or ""
        self.is_tls = parts.scheme == "smtps"
        self.is_starttls = parts.query == "starttls=1"
        self.port = parts.port or (465 if self.is_tls else 587 if self.is_starttls else 25)
        self.user = unquote(parts.username or "")
        self.password = unquote(parts.password or "")
        self.sender = sender
        self.timeout = timeout
        self.longest = longest
        self.dialogue = Dialogue()

    def send(self, mail: OutboxMail, note: Callable[[Stage], object] = _note_nothing) -> MailState:
        """Send one mail; a connection lives for one mail."""
        try:
            content = write_message(mail, self.sender)
        except ValueError as error:
            raise DeliveryFailed(
                f"The message can't be built: {error}", is_permanent=True
            ) from None
        with self._conversation(note) as server:
            self._submit(server, mail.recipient, content)
        return MailState.SENT

    def check(self) -> None:
        """Connect, say hello, encrypt and log in as for a mail, and send none.

        Raises `DeliveryFailed`.
        """
        with self._conversation():
            pass

    @contextmanager
    def _conversation(
        self, note: Callable[[Stage], object] = _note_nothing
    ) -> Iterator[Connection]:
        """Return a connection that is ready for a mail; turn every failure into
        `DeliveryFailed`."""
        self.dialogue = Dialogue()
        kind = TlsConnection if self.is_tls else Connection
        server = kind(self.dialogue, self.timeout, self.longest, note)
        # A server that sends a letter now and then never runs into a time-out of the socket.
        guard = threading.Timer(self.longest, server.cut)
        guard.daemon = True
        guard.start()
        try:
            self._open(server)
            yield server
            # What the server says to this changes nothing: it has the mail.
            server.leave()
        except DeliveryFailed:
            raise
        except (smtplib.SMTPException, OSError, ValueError) as error:
            raise self._describe(error) from None
        finally:
            guard.cancel()
            server.close()

    def _open(self, server: Connection) -> None:
        server.connect(self.host, self.port)
        server.say_hello()
        if self.is_starttls:
            self.dialogue.step = Step.TLS
            server.starttls(context=ssl.create_default_context())
            server.note_encryption()
            server.say_hello()
        if self.user:
            self.dialogue.step = Step.LOGIN
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
        """Say what an error of the conversation means for this mail and for the next ones."""
        step = self.dialogue.step
        answer: bytes | str
        if isinstance(error, smtplib.SMTPRecipientsRefused):
            code, answer = next(iter(error.recipients.values()))
        elif isinstance(error, smtplib.SMTPResponseException):
            code, answer = error.smtp_code, error.smtp_error
        else:
            problem = f"{self.host}:{self.port}: {_words(error)}"
            if step is Step.DATA:
                problem += " (while it took the mail, which may arrive twice)"
            return DeliveryFailed(
                problem,
                is_permanent=False,
                is_outage=True,
                failure=Failure(step, error),
            )
        # What is wrong with the settings is the operator's to mend; the mail itself is not refused.
        is_of_the_mail = step in (Step.RECIPIENT, Step.DATA) and code not in SETTINGS_CODES
        return DeliveryFailed(
            _sentence(code, answer),
            is_permanent=is_of_the_mail and code >= 500,
            is_outage=not is_of_the_mail,
            failure=Failure(step, error, code, _sentence(code, answer)),
        )


class LogTransport:
    """Prints mail to the log where no mail server is set."""

    def send(self, mail: OutboxMail, note: Callable[[Stage], object] = _note_nothing) -> MailState:
        """Print one mail."""
        logger.info(
            "mail to %s (no SMTP_URL is set; `testimonials mail show %s` shows it again)\n"
            "Subject: %s\n\n%s",
            mail.recipient,
            mail.id,
            mail.subject,
            mail.text,
            extra={"is_mail": True},
        )
        return MailState.PRINTED


def make_transport(smtp_url: str, sender: str) -> Transport:
    """Return the transport that the settings name."""
    return SmtpTransport(smtp_url, sender) if smtp_url else LogTransport()


def _words(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text[:500] or type(error).__name__


def _sentence(code: int, answer: bytes | str) -> str:
    text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
    return f"{code} {' '.join(text.split())}"[:500]
