"""The message of a mail: headers, text and HTML, as the bytes that are sent.

Headers are written here and never parsed: the standard library decodes encoded words in what it is
given (`=?utf-8?q?=0D=0ABcc...?=` in a name), and some releases then write headers of their own.
"""

import re
from base64 import b64encode
from email.headerregistry import BaseHeader, HeaderRegistry
from email.message import EmailMessage
from email.policy import SMTPUTF8, EmailPolicy
from email.utils import format_datetime, parseaddr, quote

from testimonials.core.mail.outbox import OutboxMail

ENCODED = "=?"
# A mailbox without quotes and comments, which we never accept.
_ADDRESS = re.compile(
    r"[^\s\x00-\x20\x7f-\x9f()<>\[\]:;@\\,\"]+@[^\s\x00-\x20\x7f-\x9f()<>:;@\\,\"]+"
)
# Nine letters have at most 36 bytes, which keeps the first line below 76 characters.
_LETTERS_OF_A_WORD = 9
_FOLD = re.compile(rb"\r\n(?=[ \t])")
# Characters that break a line elsewhere or reverse the direction of reading.
_STEERING = re.compile(r"[\x80-\x9f\u2028-\u202e\u2066-\u2069]")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class _Written:
    """A header that is sent as it was written."""

    max_count = 1

    @staticmethod
    def parse(value: str, found: dict[str, object]) -> None:
        found["decoded"], found["parse_tree"] = value, None

    def fold(self, *, policy: EmailPolicy) -> str:
        """Return the header, with line breaks between encoded words only."""
        lines = str(self).replace("?= =?", f"?={policy.linesep} =?")
        return f"{self.name}: {lines}{policy.linesep}"  # type: ignore[attr-defined]


_POLICY = SMTPUTF8.clone(
    # The registry derives each header's class from this one, which typeshed doesn't know.
    header_factory=HeaderRegistry(BaseHeader, _Written, use_default_map=False)  # type: ignore[arg-type]
)


def write_message(mail: OutboxMail, sender: str) -> bytes:
    """Return the message of a mail; raises `ValueError` for what no header can hold."""
    name, address = parseaddr(sender)
    if not is_address(mail.recipient):
        raise ValueError(f"{mail.recipient!r} is no e-mail address")
    message = EmailMessage(policy=_POLICY)
    phrase = encode_words(name) if needs_encoding(name) else f'"{quote(name)}"'
    message["From"] = f"{phrase} <{address}>" if name else address
    message["To"] = mail.recipient
    subject = _STEERING.sub("", mail.subject)
    message["Subject"] = encode_words(subject) if needs_encoding(subject) else subject
    # Letters outside ASCII would need a receiver that accepts them.
    if mail.reply_to and mail.reply_to.isascii() and is_address(mail.reply_to):
        message["Reply-To"] = mail.reply_to
    message["Date"] = format_datetime(mail.created_at)
    # The same on each attempt, so that receivers can recognize a duplicate.
    message["Message-ID"] = f"<{mail.id}@{address.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    if mail.list_unsubscribe:
        # A mail reader must find no encoded word; for a browser the URL is the same.
        link = mail.list_unsubscribe.replace(ENCODED, "=%3F")
        message["List-Unsubscribe"] = f"<{link}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message.set_content(mail.text)
    message.add_alternative(mail.html, subtype="html")
    content = message.as_bytes()
    check_head(content, message.keys())
    return content


def is_address(text: str) -> bool:
    """Return whether a text can be written to a header as one mailbox."""
    return _ADDRESS.fullmatch(text) is not None and ENCODED not in text


def needs_encoding(text: str) -> bool:
    """Return whether a mail reader would change a text that is not encoded."""
    return not text.isascii() or ENCODED in text


def encode_words(text: str) -> str:
    """Return a text as encoded words (RFC 2047), which can hold any character."""
    parts = [text[i : i + _LETTERS_OF_A_WORD] for i in range(0, len(text), _LETTERS_OF_A_WORD)]
    return " ".join(f"=?utf-8?b?{b64encode(part.encode()).decode()}?=" for part in parts)


def check_head(content: bytes, names: list[str]) -> None:
    """Raise `ValueError` unless a message has exactly the headers with these names."""
    head = _FOLD.sub(b"", content.partition(b"\r\n\r\n")[0])
    lines = head.split(b"\r\n")
    if [line.partition(b":")[0].decode("latin-1") for line in lines] != names:
        raise ValueError("it has other headers than were written")
    if any(_CONTROL.search(line) for line in lines):
        raise ValueError("a header holds a control character")
