"""Advice for operators whose mail isn't sent."""

import re
import smtplib
import socket
import ssl

from testimonials.core.mail.smtp import Step
from testimonials.core.mail.transports import SETTINGS_CODES, DeliveryFailed, SmtpTransport

ENCRYPT = "Add ?starttls=1 to SMTP_URL, or use smtps:// with port 465."


def advise(transport: SmtpTransport, failed: DeliveryFailed) -> str:
    """Return what most likely went wrong and what to change."""
    if failed.step is None:
        return "The message itself is the problem, not the settings."
    if failed.code in SETTINGS_CODES and failed.step is not Step.LOGIN:
        if not transport.dialogue.is_encrypted:
            return f"The server requires encryption. {ENCRYPT}"
        return "The server requires a user and password: smtp://user:password@host:587?starttls=1."
    if failed.step is Step.CONNECT:
        return _advise_on_connecting(transport, failed)
    if failed.step in (Step.GREETING, Step.HELLO):
        return _advise_on_greeting(transport, failed)
    if failed.step is Step.TLS:
        return _advise_on_tls(transport, failed)
    if failed.step is Step.LOGIN:
        return _advise_on_login(transport, failed)
    return _advise_on_refusal(transport, failed)


def _advise_on_connecting(transport: SmtpTransport, failed: DeliveryFailed) -> str:
    where = f"{transport.host}, port {transport.port}"
    if isinstance(failed.error, socket.gaierror | UnicodeError):
        return f"The name {transport.host} is not known. Check SMTP_URL and DNS."
    if isinstance(failed.error, ConnectionRefusedError):
        return f"Nothing listens at {where}. Try 587 with ?starttls=1, or 465 with smtps://."
    if isinstance(failed.error, TimeoutError):
        return f"No answer from {where}. Check firewalls; many hosters block port 25, but not 587."
    return f"{where} can't be reached. Check the network and the host in SMTP_URL."


def _advise_on_greeting(transport: SmtpTransport, failed: DeliveryFailed) -> str:
    if failed.code >= 400:
        return "The server accepts no mail from this machine now. Its answer says why."
    if failed.step is Step.HELLO:
        return "The server greets and then stops answering. Try again, or use 465 with smtps://."
    return (
        f"Port {transport.port} doesn't answer as a mail server does. If it expects TLS from the "
        "first byte, as 465 does, use smtps:// without ?starttls=1."
    )


def _advise_on_tls(transport: SmtpTransport, failed: DeliveryFailed) -> str:
    if isinstance(failed.error, ssl.SSLCertVerificationError):
        return _advise_on_certificate(transport, failed.error.verify_message.rstrip("."))
    if isinstance(failed.error, smtplib.SMTPNotSupportedError):
        return f"Port {transport.port} doesn't offer STARTTLS. Use smtps:// with port 465."
    if transport.is_tls:
        return f"Port {transport.port} doesn't start with TLS. Use smtp:// with ?starttls=1."
    return "TLS could not be negotiated; the server may be too old. Ask its operator."


def _advise_on_certificate(transport: SmtpTransport, reason: str) -> str:
    if "expired" in reason or "not yet valid" in reason:
        return f"The server's certificate or this machine's clock is out of date ({reason})."
    if "match" in reason:
        return (
            f"The certificate is for another name than {transport.host} ({reason}). Use its name."
        )
    return (
        f"The server's certificate is not trusted ({reason}). For a certificate authority of your "
        "own, set SSL_CERT_FILE to a file with its certificate."
    )


def _advise_on_login(transport: SmtpTransport, failed: DeliveryFailed) -> str:
    if isinstance(failed.error, smtplib.SMTPNotSupportedError):
        if not transport.dialogue.is_encrypted:
            return f"The server accepts no password without encryption. {ENCRYPT}"
        return "The server doesn't ask for a password. Remove user and password from SMTP_URL."
    return (
        "The server rejects this user and password. Many providers require an app password. In "
        "SMTP_URL, percent-encode the characters @ : / % # ?."
    )


def _advise_on_refusal(transport: SmtpTransport, failed: DeliveryFailed) -> str:
    if not failed.code:
        return "The connection ended. `serve` would send the mail again with the same Message-ID."
    if re.search("gr[ae]y-?list", failed.problem, re.IGNORECASE):
        return "This is greylisting: `serve` tries again, and the mail arrives minutes later."
    if failed.code < 500:
        return "The server refuses for now, and `serve` would try again. Its answer says why."
    if failed.step is Step.SENDER:
        return f"{transport.sender} is refused. Set MAIL_FROM to one this mail account may use."
    if failed.step is not Step.RECIPIENT:
        return "The server refuses the mail. Check SPF, DKIM and DMARC of the domain in MAIL_FROM."
    if re.search("relay|authenti", failed.problem, re.IGNORECASE):
        return "The server relays mail only after login. Add user and password to SMTP_URL."
    return "The server refuses this recipient. Check the address, or try another one."
