"""The message of a mail: headers, text and HTML, as the bytes that are sent.

The headers are written here. The standard library would decode encoded words in them
(`=?utf-8?q?=0D=0ABcc...?=` in a name), and some releases then write further headers.
"""

import re
from base64 import b64encode
from email.message import EmailMessage
from email.policy import SMTPUTF8
from email.utils import format_datetime, parseaddr, quote

from testimonials.core.mail.outbox import OutboxMail

ENCODED = "=?"
# A mailbox without quotes and comments, which we never accept.
_ADDRESS = re.compile(
    r"[^\s\x00-\x20\x7f-\x9f()<>\[\]:;@\\,\"]+@[^\s\x00-\x20\x7f-\x9f()<>:;@\\,\"]+"
)
# Nine letters have at most 36 bytes, which keeps the first line below 76 characters.
_LETTERS_OF_A_WORD = 9
# Characters that break a line elsewhere or reverse the direction of reading.
_STEERING = re.compile(r"[\x80-\x9f\u2028-\u202e\u2066-\u2069]")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def write_message(mail: OutboxMail, sender: str) -> bytes:
    """Return the message of a mail; raises `ValueError` for what no header can hold."""
    name, address = parseaddr(sender)
    name = _STEERING.sub("", mail.sender_name or name)
    if not _is_address(mail.recipient):
        raise ValueError(f"{mail.recipient!r} is no e-mail address")
    phrase = _encode_words(name) if _needs_encoding(name) else f'"{quote(name)}"'
    subject = _STEERING.sub("", mail.subject)
    headers = {
        "From": f"{phrase} <{address}>" if name else address,
        "To": mail.recipient,
        "Subject": _encode_words(subject) if _needs_encoding(subject) else subject,
        "Date": format_datetime(mail.created_at),
        # The same on each attempt, so that receivers can recognize a duplicate.
        "Message-ID": f"<{mail.id}@{address.rpartition('@')[2]}>",
        "Auto-Submitted": "auto-generated",
    }
    # Letters outside ASCII would need a receiver that accepts them.
    if mail.reply_to and mail.reply_to.isascii() and _is_address(mail.reply_to):
        headers["Reply-To"] = mail.reply_to
    if mail.list_unsubscribe:
        # A mail reader must find no encoded word; for a browser the URL is the same.
        headers["List-Unsubscribe"] = f"<{mail.list_unsubscribe.replace(ENCODED, '=%3F')}>"
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    for header, value in headers.items():
        if _CONTROL.search(value):
            raise ValueError(f"the header {header} has a control character")
    # Lines break between encoded words only.
    head = "".join(f"{header}: {value}\r\n" for header, value in headers.items())
    body = EmailMessage(policy=SMTPUTF8)
    body.set_content(mail.text)
    body.add_alternative(mail.html, subtype="html")
    return head.replace("?= =?", "?=\r\n =?").encode() + body.as_bytes()


def _is_address(text: str) -> bool:
    return _ADDRESS.fullmatch(text) is not None and ENCODED not in text


def _needs_encoding(text: str) -> bool:
    return not text.isascii() or ENCODED in text


def _encode_words(text: str) -> str:
    """Return a text as encoded words (RFC 2047), which can hold any character."""
    parts = [text[i : i + _LETTERS_OF_A_WORD] for i in range(0, len(text), _LETTERS_OF_A_WORD)]
    return " ".join(f"=?utf-8?b?{b64encode(part.encode()).decode()}?=" for part in parts)
