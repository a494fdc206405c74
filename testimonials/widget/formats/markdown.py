"""Testimonials as Markdown (CommonMark): one quotation each, and a link to all of them."""

import re
from typing import Any

from testimonials.core.web.languages import gettext
from testimonials.widget.formats.choosing import (
    Chosen,
    count_stars,
    describe_position,
    link_recording,
    list_marks,
)

# What has a meaning anywhere in a line, in CommonMark or in GitHub's kind.
_INLINE = re.compile(r"[\\`*_{}\[\]<>&~|$^]")
# What has one at its beginning: headings, lists, rules and underlines.
_START = re.compile(r"^(\d{0,9})([-+=#:.)])")
# What GitHub's kind makes a link of.
_LINK = re.compile(r":(?=//)|(?<=\bwww)\.", re.IGNORECASE)


def write_markdown(chosen: Chosen) -> str:
    """Return the quotations, empty if there are none."""
    if not chosen.items:
        return ""
    more = f"[{escape_markdown(gettext('More testimonials'))}]({chosen.wall_url})"
    return (
        "\n\n".join([*(_write(item, chosen.settings.config) for item in chosen.items), more]) + "\n"
    )


def escape_markdown(text: str) -> str:
    """Return one line of plain text so that it reads the same in Markdown."""
    line = " ".join(text.split())
    line = _LINK.sub(r"\\\g<0>", _INLINE.sub(r"\\\g<0>", line))
    return _START.sub(r"\1\\\2", line)


def _write(item: dict[str, Any], config: dict[str, Any]) -> str:
    lines = [escape_markdown(line) for line in item["text"].splitlines()]
    author = f"**{escape_markdown(item['authorName'])}**"
    position = escape_markdown(describe_position(item, config))
    stars = count_stars(item, config)
    parts = ["★" * stars + "☆" * (5 - stars) if stars else "", author]
    parts += ["(Sample)"] if item.get("isSample") else []
    signature = " ".join(filter(None, parts)) + (f", {position}" if position else "")
    signature = ". ".join([signature, *map(escape_markdown, list_marks(item))])
    recording = link_recording(item)
    link = f"[▶ {escape_markdown(recording['label'])}]({recording['url']})" if recording else ""
    # Two spaces keep a line break; an empty line begins a paragraph.
    body = [f"> {line}  " if line else ">" for line in lines]
    parts = ["\n".join(body), f"> {link}" if link else "", f"> {signature}"]
    return "\n>\n".join(filter(None, parts))
