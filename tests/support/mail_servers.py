"""Mail servers on this machine that encrypt, require a password, or misbehave."""

import contextlib
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

from tests.support.servers import PATIENCE, MailController, MailSink

USER, PASSWORD = "shop@example.com", "p/w: 100%"
URL_USER = "shop%40example.com:p%2Fw%3A%20100%25"

HANG, DIE = "(hang)", "(die)"
DEFAULTS = {
    "GREETING": "220 odd.example.com", "EHLO": "250 odd.example.com", "HELO": "250 odd.example.com",
    "MAIL": "250 fine", "RCPT": "250 fine", "DATA": "354 go on", "END": "250 taken",
    "RSET": "250 fine", "QUIT": "221 bye",
}  # fmt: skip


class OddServer:
    """Answers each command as the test says: with a line, by hanging or by disconnecting.

    `END` is the end of a mail, `GREETING` the beginning. `taken` counts the mails that were
    answered 250.
    """

    def __init__(self, **answers: str) -> None:
        self.answers = DEFAULTS | answers
        self.taken = 0
        self.connections = 0
        self._is_stopped = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    def stop(self) -> None:
        """Stop listening, and disconnect clients that hang."""
        self._is_stopped.set()
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as lines:
            if not self._answer(connection, "GREETING"):
                return
            for line in lines:
                command = line.partition(b" ")[0].strip().decode("latin-1").upper()
                if not self._answer(connection, command) or command == "QUIT":
                    return
                if command == "DATA" and self.answers["DATA"].startswith("354"):
                    while next(lines, b".\r\n") != b".\r\n":
                        pass
                    self.taken += self.answers["END"].startswith("250")
                    if not self._answer(connection, "END"):
                        return

    def _answer(self, connection: socket.socket, command: str) -> bool:
        answer = self.answers.get(command, "500 what?")
        if answer == HANG:
            self._is_stopped.wait(PATIENCE)
        elif answer != DIE:
            connection.sendall(f"{answer}\r\n".encode())
            return True
        return False


def make_certificate(folder: Path, names: str = "IP:127.0.0.1") -> tuple[Path, Path]:
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
            "-subj", "/CN=mail.example.com", "-addext", f"subjectAltName={names}",
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return certificate, key


class _Secure(MailController):
    """A server with STARTTLS, TLS from the start or neither, and optional passwords."""

    def __init__(
        self,
        sink: MailSink,
        context: ssl.SSLContext | None,
        *,
        is_tls: bool,
        has_login: bool,
        may_login_in_the_clear: bool,
    ) -> None:
        self._starttls = None if is_tls else context
        self._has_login = has_login
        self._may_login_in_the_clear = may_login_in_the_clear
        super().__init__(sink, context if is_tls else None)

    def factory(self) -> SMTP:
        # The library doesn't know about TLS from the start.
        needs_tls = not self._may_login_in_the_clear and self.ssl_context is None
        return SMTP(
            self.handler,
            tls_context=self._starttls,
            require_starttls=self._starttls is not None,
            auth_required=self._has_login and needs_tls,
            auth_require_tls=needs_tls,
            authenticator=_check if self._has_login else None,
        )

    def _trigger_server(self) -> None:
        # The library checks that the server answers, but not over TLS.
        if self.ssl_context is None:
            super()._trigger_server()
            return
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        address = ("127.0.0.1", self.port)
        with (
            socket.create_connection(address, PATIENCE) as plain,
            context.wrap_socket(plain) as tls,
        ):
            assert tls.recv(3) == b"220"


def _check(
    _server: object, _session: object, _envelope: object, _mechanism: str, data: object
) -> AuthResult:
    assert isinstance(data, LoginPassword)
    is_right = (data.login, data.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=is_right, handled=False)


@contextmanager
def secure_server(
    certificate: tuple[Path, Path] | None,
    *,
    is_tls: bool = False,
    has_login: bool = False,
    may_login_in_the_clear: bool = False,
) -> Iterator[tuple[MailSink, int]]:
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
    sink = MailSink()
    may = {"may_login_in_the_clear": may_login_in_the_clear}
    controller = _Secure(sink, context, is_tls=is_tls, has_login=has_login, **may)
    controller.start()
    try:
        yield sink, controller.port
    finally:
        controller.stop()
