"""Sending mail by SMTP or to the log, and classifying failures."""

import contextlib
import logging
import re
import smtplib
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from email.utils import parseaddr
from urllib.parse import unquote, urlsplit

from sqlalchemy import select

from testimonials.core import clock
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.jobs import Retry, current_job, job
from testimonials.core.mail.outbox import (
    SEND,
    MailState,
    OutboxMail,
    is_waiting,
    settle,
    write_message,
)
from testimonials.core.settings.table import current_settings

HIDDEN = "(hidden)"
MAX_LINES = 200
# A server may scan an email before it answers, and giving up early would send the email twice.
PATIENCE_WITH_MAIL = 6
# The steps in which a session can fail, named by SMTP command; logging in takes several commands.
STEPS, LOGIN = ("mail", "rcpt", "data", "quit"), "login"


class Dialogue:
    """A transcript of an SMTP session; `C:` is this service, `S:` the server, `*` a remark."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.step = ""
        self.is_encrypted = False

    def add(self, side: str, text: str) -> None:
        if len(self.lines) < MAX_LINES:
            self.lines += [f"{side} {line}"[:500] for line in text.splitlines() or [""]]


class Connection(smtplib.SMTP):
    """An SMTP connection that records its dialogue without secrets; STARTTLS may encrypt it.

    A reply may take `timeout` seconds, or `PATIENCE_WITH_MAIL` times as long after an email.
    """

    def __init__(self, dialogue: Dialogue, host: str, port: int, timeout: float) -> None:
        self.dialogue = dialogue
        dialogue.add("*", f"connecting to {host}, port {port}")
        super().__init__(host, port, timeout=timeout)

    def putcmd(self, cmd: str, args: str = "") -> None:
        """Send a command, and record it without user and password."""
        if cmd.lower() in STEPS:
            self.dialogue.step = cmd.lower()
        words = f"{cmd} {args}".strip()
        if self.dialogue.step == LOGIN:
            # Replies to AUTH challenges are sent as commands too, and are secret as a whole.
            words = f"AUTH {args.split(' ')[0]} {HIDDEN}" if cmd.upper() == "AUTH" else HIDDEN
        self.dialogue.add("C:", words)
        super().putcmd(cmd, args)

    def send(self, s: "bytes | str") -> None:  # type: ignore[override]
        """Send a command (a string) or an email (bytes)."""
        super().send(s)
        if isinstance(s, bytes):
            self.dialogue.add("C:", f"(the email, {len(s)} bytes)")
            if self.sock is not None:
                self.sock.settimeout(self.timeout * PATIENCE_WITH_MAIL)

    def getreply(self) -> tuple[int, bytes]:
        try:
            code, answer = super().getreply()
        except smtplib.SMTPServerDisconnected as error:
            self.dialogue.add("*", str(error))
            raise
        for line in answer.decode("utf-8", "replace").split("\n"):
            self.dialogue.add("S:", f"{code} {line}")
        return code, answer

    def leave(self) -> None:
        """Send QUIT, without waiting for the reply."""
        with contextlib.suppress(smtplib.SMTPException, OSError):
            self.putcmd("quit")

    def note_encryption(self) -> None:
        self.dialogue.is_encrypted = True
        version = self.sock.version() if isinstance(self.sock, ssl.SSLSocket) else None
        self.dialogue.add("*", f"encrypted with {version}; the certificate is valid")


class TlsConnection(Connection):
    """A connection that is encrypted from the start."""

    def _get_socket(self, host: str, port: int, timeout: float) -> ssl.SSLSocket:
        plain = socket.create_connection((host, port), timeout)
        self.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
        self.note_encryption()
        return self.sock


logger = logging.getLogger("testimonials.mail")

TIMEOUT_SECONDS = 20
# Codes that are about the settings in any step: authentication is required, too weak or wrong, or
# needs TLS first.
SETTINGS_CODES = frozenset({530, 534, 535, 538})


@dataclass(eq=False)
class DeliveryFailed(Exception):
    """The email wasn't sent.

    `is_permanent` if a retry can't help, `is_outage` if other emails would fail too.
    """

    problem: str
    is_permanent: bool = False
    is_outage: bool = False

    def __str__(self) -> str:
        return self.problem


class SmtpTransport:
    """Sends mail by SMTP, with TLS or STARTTLS if the URL says so, and records the dialogue."""

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
        """Send an email over a new connection."""
        try:
            content = write_message(mail, self.sender)
        except ValueError as error:
            raise DeliveryFailed(
                f"The message can't be built: {error}", is_permanent=True
            ) from None
        with self._connect() as server:
            options = []
            if not mail.recipient.isascii():
                if not server.has_extn("smtputf8"):
                    raise DeliveryFailed(
                        "The mail server can't deliver to addresses with non-ASCII characters.",
                        is_permanent=True,
                    )
                options = ["SMTPUTF8", "BODY=8BITMIME"]
            sender = parseaddr(self.sender)[1]
            server.sendmail(sender, [mail.recipient], content, mail_options=options)
        return MailState.SENT

    def check(self) -> None:
        """Connect, encrypt and log in without sending mail. Raises `DeliveryFailed`."""
        with self._connect():
            pass

    @contextmanager
    def _connect(self) -> Iterator[Connection]:
        """Yield a connection that is ready for an email. Any failure raises `DeliveryFailed`."""
        self.dialogue = Dialogue()
        kind = TlsConnection if self.is_tls else Connection
        try:
            with closing(kind(self.dialogue, self.host, self.port, self.timeout)) as server:
                self._log_in(server)
                yield server
                # The server has accepted the email, so its reply to QUIT doesn't matter.
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
            self.dialogue.step = LOGIN
            if not (self.user + self.password).isascii():
                raise smtplib.SMTPException("The user and password may only have ASCII characters.")
            server.login(self.user, self.password)

    def _describe(self, error: Exception) -> DeliveryFailed:
        """Classify an error of the session by whether it concerns this email or all mail."""
        step = self.dialogue.step
        answer: bytes | str
        if isinstance(error, smtplib.SMTPRecipientsRefused):
            code, answer = next(iter(error.recipients.values()))
        elif isinstance(error, smtplib.SMTPResponseException):
            code, answer = error.smtp_code, error.smtp_error
        else:
            words = " ".join(str(error).split())[:500] or type(error).__name__
            problem = f"{self.host}:{self.port}: {words}"
            if step == "data":
                problem += " (while sending the email, which may arrive twice)"
            return DeliveryFailed(problem, is_outage=True)
        text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
        # Anything else is about the settings or the server, so every email would fail.
        is_about_mail = step in ("rcpt", "data") and code not in SETTINGS_CODES
        return DeliveryFailed(
            f"{code} {' '.join(text.split())}"[:500],
            is_permanent=is_about_mail and code >= 500,
            is_outage=not is_about_mail,
        )


def print_mail(mail: OutboxMail) -> MailState:
    logger.info(
        "email to %s (SMTP_URL is not set; `testimonials mail show %s` shows it again)\n"
        "Subject: %s\n\n%s",
        *(mail.recipient, mail.id, mail.subject, mail.text),
        extra={"is_mail": True},
    )
    return MailState.PRINTED


# Functions that return whether an email is still wanted.
WANTED: list[Callable[[OutboxMail], bool]] = []


def ask_before_sending(is_wanted: Callable[[OutboxMail], bool]) -> Callable[[OutboxMail], bool]:
    """Declare a function that is called for each email just before it is sent."""
    WANTED.append(is_wanted)
    return is_wanted


def _give_up(error: str) -> None:
    mail = _lock_mail()
    if mail is not None:
        mail.state = MailState.FAILED
        mail.last_error = mail.last_error or error


@job(SEND, "mail", give_up=_give_up)
def send() -> None:
    """Send an email between two transactions, or delete it if it is no longer wanted."""
    with write(_lock_mail) as mail:
        if mail is None:
            return
        if not all(is_wanted(mail) for is_wanted in WANTED):
            db.session.delete(mail)
            return
        mail.state, mail.tried_at = MailState.SENDING, clock.now()
        mail.attempts = current_job().attempts
    settings, failure = current_settings(), None
    url = settings.smtp_url
    try:
        state = SmtpTransport(url, settings.mail_from).send(mail) if url else print_mail(mail)
    except DeliveryFailed as error:
        failure = error
        state = MailState.FAILED if error.is_permanent else MailState.QUEUED
    with write(_lock_mail) as current:
        if current is not None:
            settle(current, state, str(failure) if failure else None)
    if failure is not None:
        # Servers often repeat the address in their reply.
        reason = re.sub(re.escape(mail.recipient), "(recipient)", str(failure), flags=re.IGNORECASE)
        logger.warning("mail %s not sent (%s): %s", mail.id, state, reason)
        if not failure.is_permanent:
            raise Retry(reason, is_outage=failure.is_outage)


def _lock_mail() -> OutboxMail | None:
    """Lock and return the job's email, unless it was sent or deleted."""
    query = select(OutboxMail).where(OutboxMail.id == current_job().id, is_waiting())
    return db.session.scalars(query.with_for_update()).one_or_none()
