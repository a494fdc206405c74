"""Connections to a mail server that record what was said, without passwords."""

import contextlib
import smtplib
import socket
import ssl
from enum import StrEnum

HIDDEN = "(hidden)"
MAX_LINES = 200
# A server may scan a mail before it answers. Giving up early would send it a second time.
PATIENCE_WITH_MAIL = 6


class Step(StrEnum):
    """How far a conversation got; a failure belongs to the step in which it happened."""

    BEGIN = "begin"
    LOGIN = "login"
    SENDER = "sender"
    RECIPIENT = "recipient"
    DATA = "data"
    LEAVE = "leave"


# The commands that begin a step; the caller begins LOGIN.
STEPS = {"mail": Step.SENDER, "rcpt": Step.RECIPIENT, "data": Step.DATA, "quit": Step.LEAVE}


class Dialogue:
    """What both sides said, a line each: `C:` is this service, `S:` the server, `*` a remark."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.step = Step.BEGIN
        self.is_encrypted = False

    def add(self, side: str, text: str) -> None:
        if len(self.lines) < MAX_LINES:
            self.lines += [f"{side} {line}"[:500] for line in text.splitlines() or [""]]


class Connection(smtplib.SMTP):
    """A conversation in the clear, until STARTTLS encrypts it; opened when it is created.

    Each answer may take `timeout` seconds, and the one to a mail `PATIENCE_WITH_MAIL` times that.
    """

    def __init__(self, dialogue: Dialogue, host: str, port: int, timeout: float) -> None:
        self.dialogue = dialogue
        dialogue.add("*", f"connecting to {host}, port {port}")
        super().__init__(host, port, timeout=timeout)

    def putcmd(self, cmd: str, args: str = "") -> None:
        """Send a command; neither user nor password is recorded."""
        self.dialogue.step = STEPS.get(cmd.lower(), self.dialogue.step)
        words = f"{cmd} {args}".strip()
        if self.dialogue.step is Step.LOGIN:
            # The answers to AUTH are sent as commands of their own, which are secret as a whole.
            words = f"AUTH {args.split(' ')[0]} {HIDDEN}" if cmd.upper() == "AUTH" else HIDDEN
        self.dialogue.add("C:", words)
        super().putcmd(cmd, args)

    def send(self, s: "bytes | str") -> None:  # type: ignore[override]
        """Send a command, or a mail, which is the only thing sent as bytes."""
        super().send(s)
        if isinstance(s, bytes):
            self.dialogue.add("C:", f"(the mail, {len(s)} bytes)")
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
        """Say goodbye, without waiting for an answer."""
        with contextlib.suppress(smtplib.SMTPException, OSError):
            self.putcmd("quit")

    def note_encryption(self) -> None:
        """Record how the connection is encrypted now."""
        self.dialogue.is_encrypted = True
        version = self.sock.version() if isinstance(self.sock, ssl.SSLSocket) else None
        self.dialogue.add("*", f"encrypted with {version}; the certificate is valid")


class TlsConnection(Connection):
    """A conversation that is encrypted from its first byte."""

    def _get_socket(self, host: str, port: int, timeout: float) -> ssl.SSLSocket:
        plain = socket.create_connection((host, port), timeout)
        # The library takes what this returns as its socket.
        self.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
        self.note_encryption()
        return self.sock
