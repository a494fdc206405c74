"""The parsers of the company's sign-in; see `parsers`."""

import re
from typing import NamedTuple

from testimonials.settings.parsers import HOST, parse_text

LONGEST_ISSUER = 500
LONGEST_LABEL = 40
# Owning isn't for a group.
GROUP_ROLES = ("admin", "moderator", "reader")


class GroupRole(NamedTuple):
    """The role that the people of a company's group have."""

    group: str
    role: str

    def __str__(self) -> str:
        return f"{self.group}={self.role}"


def parse_issuer(value: object) -> str:
    """Parse "" or an issuer of OpenID Connect, which is compared letter by letter.

    Without https:// anybody on the way could name themselves: only this machine may do without.
    """
    text = parse_text(value)
    found = re.fullmatch(rf"(https?)://({HOST})(?::[0-9]{{1,5}})?(/[^\s?#]*)?", text)
    is_local = found and found[2] in ("localhost", "127.0.0.1", "[::1]")
    if text and (not found or (found[1] == "http" and not is_local) or len(text) > LONGEST_ISSUER):
        raise ValueError(
            "must be the issuer as the provider names it: https://, a host and perhaps a path, "
            f"such as https://id.example.com/realms/staff, not {text!r}"
        )
    return text


def parse_label(value: object) -> str:
    """Parse one short line that pages show."""
    text = parse_text(value)
    if len(text) > LONGEST_LABEL or not text.isprintable():
        raise ValueError(f"must be one line of at most {LONGEST_LABEL} characters")
    return text


def parse_groups(value: object) -> tuple[GroupRole, ...]:
    """Parse groups and their roles such as ``Marketing=moderator``, or a TOML list of them."""
    words = value if isinstance(value, list) else parse_text(value).split(",")
    pairs = [parse_text(word).rpartition("=") for word in words if parse_text(word)]
    for group, _, role in pairs:
        if not group.strip() or role.strip() not in GROUP_ROLES:
            raise ValueError(
                "must list groups with a role such as Marketing=moderator, Leads=admin; roles are "
                f"{', '.join(GROUP_ROLES)}"
            )
    return tuple(GroupRole(group.strip(), role.strip()) for group, _, role in pairs)
