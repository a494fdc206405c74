"""The message of a mail: its headers, its text and its HTML, as the bytes that are sent.

Headers are written here and never parsed: the standard library looks for encoded words in what it
is given (`=?utf-8?q?=0D=0ABcc...?=` in a name), and some of its releases write what it finds as
headers of their own.
"""

import re
from base64 import b64encode
from email.headerregistry import BaseHeader, HeaderRegistry
from email.message import EmailMessage
from email.policy import SMTPUTF8, EmailPolicy
from email.utils import format_datetime, parseaddr, quote

from testimonials.core.mail.outbox import OutboxMail

ENCODED = "=?"
# A mailbox without quotes and comments, which the addresses of accounts and people never have.
_ADDRESS = re.compile(
    r"[^\s\x00-\x20\x7f-\x9f()<>\[\]:;@\\,\"]+@[^\s\x00-\x20\x7f-\x9f()<>:;@\\,\"]+"
)
# Nine letters have at most 36 bytes, which keeps the first line of a subject below 76 characters.
_LETTERS_OF_A_WORD = 9
_FOLD = re.compile(rb"\r\n(?=[ \t])")
# What people may type, and what would break a line elsewhere or turn the direction of reading.
_STEERING = re.compile(r"[\x80-\x9f\u2028-\u202e\u2066-\u2069]")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class _Written:
    """A header that is sent as it was written."""

    max_count = 1

    @staticmethod
    def parse(value: str, found: dict[str, object]) -> None:
        """Keep the value as it is."""
        found["decoded"], found["parse_tree"] = value, None

    def fold(self, *, policy: EmailPolicy) -> str:
        """Return the lines of the header; only between encoded words does it break."""
        lines = str(self).replace("?= =?", f"?={policy.linesep} =?")
        return f"{self.name}: {lines}{policy.linesep}"  # type: ignore[attr-defined]


_POLICY = SMTPUTF8.clone(
    # The registry makes each header's class from this one and its own base class.
    header_factory=HeaderRegistry(BaseHeader, _Written, use_default_map=False)  # type: ignore[arg-type]
)


def write_message(mail: OutboxMail, sender: str) -> bytes:
    """Return the message of a mail: text first, HTML as its alternative.

    Raises `ValueError` for an address or a text that no header can hold.
    """
    name, address = parseaddr(sender)
    if not is_address(mail.recipient):
        raise ValueError(f"{mail.recipient!r} is no e-mail address")
    message = EmailMessage(policy=_POLICY)
    phrase = encode_words(name) if needs_encoding(name) else f'"{quote(name)}"'
    message["From"] = f"{phrase} <{address}>" if name else address
    message["To"] = mail.recipient
    subject = _STEERING.sub("", mail.subject)
    message["Subject"] = encode_words(subject) if needs_encoding(subject) else subject
    # A header can't hold other letters in it, unless the receiver's server takes them too.
    if mail.reply_to and mail.reply_to.isascii() and is_address(mail.reply_to):
        message["Reply-To"] = mail.reply_to
    message["Date"] = format_datetime(mail.created_at)
    # The same on each attempt, so that a receiver can tell a repetition.
    message["Message-ID"] = f"<{mail.id}@{address.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    if mail.list_unsubscribe:
        # The same address for a browser, and no encoded word for a mail reader.
        link = mail.list_unsubscribe.replace(ENCODED, "=%3F")
        message["List-Unsubscribe"] = f"<{link}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message.set_content(mail.text)
    message.add_alternative(mail.html, subtype="html")
    content = message.as_bytes()
    check_head(content, message.keys())
    return content


def is_address(text: str) -> bool:
    """Tell whether a text can stand in a header as the one mailbox that it names."""
    return _ADDRESS.fullmatch(text) is not None and ENCODED not in text


def needs_encoding(text: str) -> bool:
    """Tell whether a mail reader would show a text otherwise than it was typed."""
    return not text.isascii() or ENCODED in text


def encode_words(text: str) -> str:
    """Return a text as encoded words (RFC 2047), which hold anything and mean what was typed."""
    parts = [text[i : i + _LETTERS_OF_A_WORD] for i in range(0, len(text), _LETTERS_OF_A_WORD)]
    return " ".join(f"=?utf-8?b?{b64encode(part.encode()).decode()}?=" for part in parts)


def check_head(content: bytes, names: list[str]) -> None:
    """Raise `ValueError` unless a message begins with headers of these names and no others."""
    head = _FOLD.sub(b"", content.partition(b"\r\n\r\n")[0])
    lines = head.split(b"\r\n")
    if [line.partition(b":")[0].decode("latin-1") for line in lines] != names:
        raise ValueError("its head holds other headers than were written")
    if any(_CONTROL.search(line) for line in lines):
        raise ValueError("a header holds a control character")
