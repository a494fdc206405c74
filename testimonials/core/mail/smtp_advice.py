"""What an operator can do about mail that does not leave, in words."""

import contextlib
import re
import smtplib
import socket
import ssl

from testimonials.core.mail.smtp import Step
from testimonials.core.mail.transports import SETTINGS_CODES, DeliveryFailed, Failure, SmtpTransport

PROBE_SECONDS = 5.0


def advise(transport: SmtpTransport, failed: DeliveryFailed) -> str:
    """Say what most likely went wrong and what to change; may try the port once more."""
    failure = failed.failure
    if failure is None:
        return "The message itself is the problem; the settings are not."
    if failure.code in SETTINGS_CODES and failure.step is not Step.LOGIN:
        return _advise_on_refused_settings(transport)
    return {
        Step.CONNECT: _advise_on_connecting,
        Step.GREETING: _advise_on_greeting,
        Step.HELLO: _advise_on_greeting,
        Step.TLS: _advise_on_tls,
        Step.LOGIN: _advise_on_login,
        Step.SENDER: _advise_on_sender,
        Step.RECIPIENT: _advise_on_recipient,
    }.get(failure.step, _advise_on_data)(transport, failure)


def _advise_on_connecting(transport: SmtpTransport, failure: Failure) -> str:
    where = f"{transport.host}, port {transport.port}"
    if isinstance(failure.error, socket.gaierror | UnicodeError):
        return (
            f"The name {transport.host} is not known. Is SMTP_URL spelt right, and does DNS work?"
        )
    if isinstance(failure.error, ConnectionRefusedError):
        return (
            f"Nothing listens at {where}. Mail servers take mail at 587 (with ?starttls=1) or 465 "
            "(smtps://)."
        )
    if isinstance(failure.error, TimeoutError):
        words = f"No answer from {where}. A firewall is in between, or the address is wrong."
        if transport.port == 25:
            words += " Many hosters block port 25: use 587 with ?starttls=1, or smtps:// with 465."
        return words
    return f"There is no way to {where}. Check the network, and that the host is right."


def _advise_on_greeting(transport: SmtpTransport, failure: Failure) -> str:
    if failure.code >= 400:
        return (
            "The server takes no mail from this machine now. It may block its address, or ask to "
            "come back later; its answer says which."
        )
    if failure.step is Step.HELLO:
        return (
            "The server greets and then answers no more. It is overloaded, or a firewall in "
            "between looks into mail; try again, or use 465 with smtps://."
        )
    if not transport.is_tls and _speaks_tls(transport):
        return (
            f"Port {transport.port} speaks TLS from the first byte, and SMTP_URL expects a server "
            f"that begins in the clear. Use smtps://...@{transport.host}:{transport.port} without "
            "?starttls=1."
        )
    return (
        "Something answers there, but not as a mail server does. Check the port: 587 with "
        "?starttls=1, or 465 with smtps://."
    )


def _advise_on_tls(transport: SmtpTransport, failure: Failure) -> str:
    error = failure.error
    if isinstance(error, ssl.SSLCertVerificationError):
        return _advise_on_certificate(transport, error)
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return (
            f"The server at port {transport.port} does not offer STARTTLS. Use smtps:// with port "
            "465. Leave ?starttls=1 out only for a server on the same machine: mail and password "
            "would travel readable for everybody in between."
        )
    if transport.is_tls and _speaks_plainly(transport):
        return (
            f"Port {transport.port} begins in the clear, and smtps:// expects TLS from the first "
            f"byte. Use smtp://...@{transport.host}:{transport.port}?starttls=1."
        )
    return "TLS could not be agreed on. The server may be too old; ask whoever runs it."


def _advise_on_certificate(transport: SmtpTransport, error: ssl.SSLCertVerificationError) -> str:
    reason = error.verify_message.rstrip(".")
    if "expired" in reason or "not yet valid" in reason:
        return (
            f"The server's certificate is out of date ({reason}). If it is not, the clock of this "
            "machine is wrong."
        )
    if "match" in reason:
        return (
            f"The certificate is for another name than {transport.host} ({reason}). Use the name "
            "that stands in it."
        )
    return (
        f"The server's certificate is not trusted here ({reason}). For an authority of your own "
        "set SSL_CERT_FILE to a file with its certificate."
    )


def _advise_on_login(transport: SmtpTransport, failure: Failure) -> str:
    if isinstance(failure.error, smtplib.SMTPNotSupportedError):
        if not transport.dialogue.is_encrypted:
            return (
                "The server takes no password on a connection in the clear. Add ?starttls=1 to "
                "SMTP_URL, or use smtps:// with port 465."
            )
        return "The server asks for no password. Leave user and password out of SMTP_URL."
    return (
        "The server does not take this user and password. Many providers want a password made for "
        "programs. In SMTP_URL the letters @ : / % # ? are percent-encoded."
    )


def _advise_on_refused_settings(transport: SmtpTransport) -> str:
    if not transport.dialogue.is_encrypted:
        return (
            "The server wants the connection encrypted first. Add ?starttls=1 to SMTP_URL, or use "
            "smtps:// with port 465."
        )
    return "The server wants a user and a password: smtp://user:password@host:587?starttls=1."


def _advise_on_sender(transport: SmtpTransport, failure: Failure) -> str:
    if failure.code < 500:
        return "The server refuses for now; `serve` would try again. Its answer says why."
    return (
        f"The server refuses the sender {transport.sender}. Set MAIL_FROM to an address that this "
        "mail account may send as."
    )


def _advise_on_recipient(_transport: SmtpTransport, failure: Failure) -> str:
    if re.search("gr[ae]y-?list", failure.answer, re.IGNORECASE):
        return (
            "This is greylisting: a server that doesn't know the sender refuses the first time. "
            "`serve` tries again by itself, and the mail arrives minutes later."
        )
    if failure.code < 500:
        return "The server refuses this recipient for now; `serve` would try again."
    if re.search("relay|authenti", failure.answer, re.IGNORECASE):
        return (
            "The server carries mail to others only for those who log in, or from addresses that "
            "it knows. Put user and password into SMTP_URL."
        )
    return "The server refuses this recipient for good. Is the address right? Try another one."


def _advise_on_data(_transport: SmtpTransport, failure: Failure) -> str:
    if not failure.code:
        return (
            "The connection ended while the server took the mail. It may have arrived all the "
            "same; `serve` would send it again with the same Message-ID."
        )
    if failure.code < 500:
        return "The server refuses for now; `serve` would try again. Its answer says why."
    return (
        "The server refuses the mail itself, as spam or by a policy. Check SPF, DKIM and DMARC of "
        "the domain of MAIL_FROM."
    )


def _speaks_tls(transport: SmtpTransport) -> bool:
    """Try a TLS handshake, whatever the certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        contextlib.suppress(OSError),
        _open(transport) as plain,
        context.wrap_socket(plain, server_hostname=transport.host),
    ):
        return True
    return False


def _speaks_plainly(transport: SmtpTransport) -> bool:
    """Wait for a greeting in the clear."""
    with contextlib.suppress(OSError), _open(transport) as plain:
        return plain.recv(3) == b"220"
    return False


def _open(transport: SmtpTransport) -> socket.socket:
    seconds = min(PROBE_SECONDS, transport.timeout)
    return socket.create_connection((transport.host, transport.port), seconds)
