"""Connections to a mail server that keep what was said, without passwords, and end in time."""

import contextlib
import smtplib
import socket
import ssl
from collections.abc import Callable
from enum import StrEnum

from testimonials.core.mail.handover import Stage

HIDDEN = "(hidden)"
# Of a mail's own lines none is kept.
MAX_LINES = 200


class Step(StrEnum):
    """How far a conversation got; a failure belongs to the step that it happened in."""

    CONNECT = "connect"
    GREETING = "greeting"
    HELLO = "hello"
    TLS = "tls"
    LOGIN = "login"
    SENDER = "sender"
    RECIPIENT = "recipient"
    DATA = "data"
    LEAVE = "leave"


# What ends a mail; until it is there the server has taken nothing.
END = b".\r\n"

# A command that begins a step; AUTH and STARTTLS are begun by who calls them.
STEPS = {"mail": Step.SENDER, "rcpt": Step.RECIPIENT, "data": Step.DATA}


class Dialogue:
    """What both sides said, a line each: `C:` is this service, `S:` the server, `*` a remark."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.step = Step.CONNECT
        self.is_encrypted = False

    def add(self, side: str, text: str) -> None:
        """Keep a line."""
        if len(self.lines) < MAX_LINES:
            self.lines += [f"{side} {line}"[:500] for line in text.splitlines() or [""]]


class Connection(smtplib.SMTP):
    """A conversation in the clear, until STARTTLS encrypts it.

    Each answer may take `timeout` seconds, and the one to a mail `longest`. `note` is told how far
    the mail is.
    """

    def __init__(
        self, dialogue: Dialogue, timeout: float, longest: float, note: Callable[[Stage], object]
    ) -> None:
        # Before the library's own beginning, which calls methods of this class.
        self.dialogue = dialogue
        self._note = note
        self._longest = longest
        self._is_secret = False
        self._is_cut = False
        super().__init__(timeout=timeout)

    def connect(
        self, host: str = "localhost", port: int = 0, source_address: object = None
    ) -> tuple[int, bytes]:
        """Open the connection and read the greeting; raise for one that is no welcome."""
        self.dialogue.add("*", f"connecting to {host}, port {port}")
        # The library checks the certificate for this name.
        self._host = host
        code, answer = super().connect(host, port)
        if code != 220:
            raise smtplib.SMTPConnectError(code, answer)
        if self.sock is not None:
            # The end of a mail is sent by itself, and else waits for the receipt of the rest.
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return code, answer

    def say_hello(self) -> None:
        """Introduce this service; raise `SMTPHeloError` when that is refused."""
        self.dialogue.step = Step.HELLO
        self.ehlo_or_helo_if_needed()

    def login(
        self, user: str, password: str, *, initial_response_ok: bool = True
    ) -> tuple[int, bytes]:
        """Log in; neither name nor password is kept in the dialogue."""
        self._is_secret = True
        try:
            return super().login(user, password, initial_response_ok=initial_response_ok)
        except UnicodeError:
            raise smtplib.SMTPException(
                "The user or the password holds letters outside ASCII, which can't be sent."
            ) from None
        finally:
            self._is_secret = False

    def putcmd(self, cmd: str, args: str = "") -> None:
        """Send a command."""
        self.dialogue.step = STEPS.get(cmd.lower(), self.dialogue.step)
        words = f"{cmd} {args}".strip()
        if self._is_secret:
            # The answers to AUTH are sent as commands of their own, which are secrets whole.
            words = f"AUTH {args.split(' ')[0]} {HIDDEN}" if cmd.upper() == "AUTH" else HIDDEN
        self.dialogue.add("C:", words)
        super().putcmd(cmd, args)

    def send(self, s: "bytes | str") -> None:  # type: ignore[override]
        """Send a command, or a mail, which is the only thing that comes as bytes."""
        if isinstance(s, str):
            super().send(s)
            return
        super().send(s.removesuffix(END))
        # With nothing in between: whoever is killed here has the mail sent twice, or never.
        self._note(Stage.HANDED_OVER)
        super().send(END)
        self.dialogue.add("C:", f"(the mail, {len(s)} bytes)")
        if self.sock is not None:
            # A server may look through it first. To give up sooner would mean to send a mail again
            # that the server has taken.
            self.sock.settimeout(self._longest)

    def data(self, msg: "bytes | str") -> tuple[int, bytes]:  # type: ignore[override]
        """Send a mail and read the answer to it."""
        code, answer = super().data(msg)
        self._note(Stage.TAKEN if code == 250 else Stage.BEFORE_THE_END)
        return code, answer

    def getreply(self) -> tuple[int, bytes]:
        """Read an answer; it is kept also where it is a refusal."""
        if self.dialogue.step is Step.CONNECT:
            self.dialogue.step = Step.GREETING
        try:
            if self._is_cut:
                raise smtplib.SMTPServerDisconnected("The whole took too long")
            code, answer = super().getreply()
        except smtplib.SMTPServerDisconnected as error:
            self.dialogue.add("*", str(error))
            raise
        for line in answer.decode("utf-8", "replace").split("\n"):
            self.dialogue.add("S:", f"{code} {line}")
        return code, answer

    def leave(self) -> None:
        """Say goodbye, without waiting for an answer."""
        self.dialogue.step = Step.LEAVE
        with contextlib.suppress(smtplib.SMTPException, OSError):
            self.putcmd("quit")

    def cut(self) -> None:
        """End the connection from another thread; whoever waits for it gets an error."""
        self._is_cut = True
        if self.sock is not None:
            with contextlib.suppress(OSError):
                # Below TLS, whose own state belongs to the thread that uses it.
                socket.socket.shutdown(self.sock, socket.SHUT_RDWR)

    def note_encryption(self) -> None:
        """Keep with what the connection is encrypted now."""
        self.dialogue.is_encrypted = True
        version = self.sock.version() if isinstance(self.sock, ssl.SSLSocket) else None
        self.dialogue.add("*", f"encrypted with {version}; the certificate is right")


class TlsConnection(Connection):
    """A conversation that is encrypted from its first byte."""

    def _get_socket(self, host: str, port: int, timeout: float) -> ssl.SSLSocket:
        plain = socket.create_connection((host, port), timeout)
        self.dialogue.step = Step.TLS
        try:
            context = ssl.create_default_context()
            # The library takes what this gives as its socket.
            self.sock = context.wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise
        self.note_encryption()
        self.dialogue.step = Step.GREETING
        return self.sock
