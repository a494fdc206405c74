"""Finds English in templates and scripts that no catalog can translate.

A template becomes HTML in which every expression is a mark, but for the words that are written in
it; then its texts are read as a browser would.
"""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

from jinja2 import Environment, nodes

MARK = "\x00"
MARKED = {"_", "gettext", "ngettext", "pgettext"}
# What takes names and addresses, never words.
TECHNICAL = {"url_for", "strftime", "icon", "ic", "described", "current_path"}
TECHNICAL_ARGUMENTS = {
    "class", "lists", "autocomplete", "type", "rel", "pattern", "prefix", "inputmode",
}  # fmt: skip
SPOKEN = {"aria-label", "title", "placeholder", "alt", "aria-roledescription", "aria-description"}
SILENT = {"script", "style", "code", "pre", "svg", "kbd"}
VOID = {"input", "img", "br", "hr", "meta", "link", "source", "track", "wbr", "col"}
# Filters that take a name or a pattern, not a text.
NAMED = {"format", "label"}
# Blocks that hold names of classes.
CLASSES = {"body_class", "sheet_width"}
# Names, and words that are the same everywhere.
NAMES = {
    "Testimonials", "WordPress", "Next", "js", "React", "Vue", "Astro", "Hugo", "Webflow", "Wix",
    "Squarespace", "Shopify", "Framer", "Claude", "Code", "ChatGPT", "Cursor", "Windsurf", "VS",
    "JSON", "CSV", "SVG", "HTML", "URL", "API", "MCP", "OAuth", "RSS", "UTC", "TXT", "CNAME", "DNS",
    "WebVTT", "SRT", "PNG", "JPG", "WebP", "MB", "KB", "nbsp", "https", "http", "www", "npm",
    "Mira", "Noor", "noor", "Haddad", "LinkedIn", "Facebook", "Google", "Trustpilot", "WhatsApp",
    "Stripe", "Zapier", "ZIP", "Feed",
    "reviews", "example", "com",
}  # fmt: skip
WORD = re.compile(r"[^\W\d_]{2,}")
WORDS = re.compile(r"[A-Z][a-z]|[A-Za-z’'],? [A-Za-z(]")
LITERAL = re.compile(r"""'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`""")
ATTRIBUTES = re.compile(r"[\s\x00]*([a-z-]+\x00?=\"|disabled$)")
COMMENT = re.compile(r"(?m)^\s*//.*$|/\*.*?\*/")


def find_in_template(environment: Environment, source: str) -> list[str]:
    """Return the English texts of a template that are not marked for translation."""
    found: list[str] = []
    reader = _Reader(found)
    reader.feed("".join(_write(environment.parse(source), found)))
    reader.close()
    return found


def find_in_script(source: str) -> list[str]:
    texts = (next(filter(None, parts), "") for parts in LITERAL.findall(COMMENT.sub("", source)))
    return [text for text in texts if re.match(r"[A-Z][a-z’]*,? [a-z$]", text)]


def _write(node: nodes.Node, found: list[str]) -> Iterator[str]:
    """Write a template as HTML, and note the words that it hands to macros and variables."""
    if isinstance(node, nodes.Output):
        for each in node.nodes:
            yield from _write_expression(each, found)
    elif isinstance(node, nodes.Expr):
        found.extend(_find_words(node))
    elif isinstance(node, nodes.Macro):
        for name, default in zip(reversed(node.args), reversed(node.defaults), strict=False):
            if name.name not in TECHNICAL_ARGUMENTS:
                found.extend(_find_words(default))
        body = "".join(text for each in node.body for text in _write(each, found))
        # Some write attributes into a tag that is elsewhere.
        yield f"<i {body}>" if ATTRIBUTES.match(body) else body
    elif not isinstance(node, nodes.Block) or node.name not in CLASSES:
        for each in node.iter_child_nodes():
            yield from _write(each, found)


def _write_expression(node: nodes.Node, found: list[str]) -> Iterator[str]:
    if isinstance(node, nodes.TemplateData):
        yield node.data
    elif isinstance(node, nodes.Const):
        yield str(node.value) if isinstance(node.value, str) else MARK
    elif isinstance(node, nodes.CondExpr):
        yield from _write_expression(node.expr1, found)
        yield MARK
        if node.expr2 is not None:
            yield from _write_expression(node.expr2, found)
    elif isinstance(node, nodes.Concat | nodes.Add | nodes.Or | nodes.And):
        for each in node.iter_child_nodes():
            yield from _write_expression(each, found)
    elif isinstance(node, nodes.Filter) and node.name not in NAMED and node.node is not None:
        yield from _write_expression(node.node, found)
    else:
        found.extend(_find_words(node))
        yield MARK


def _find_words(node: nodes.Node) -> Iterator[str]:
    """Find what reads as words in an expression of which nobody sees where it is shown."""
    if isinstance(node, nodes.Const):
        text = node.value if isinstance(node.value, str) else ""
        is_name = re.fullmatch(r"[a-z][\w-]*", text)
        if WORDS.search(text) and "=" not in text and not is_name and not _is_known(text):
            yield text
        return
    is_replacing = isinstance(node, nodes.Filter) and node.name in ("format", "replace")
    if is_replacing or isinstance(node, nodes.Compare | nodes.Test | nodes.Getitem):
        return
    if isinstance(node, nodes.Keyword) and node.key in TECHNICAL_ARGUMENTS:
        return
    if isinstance(node, nodes.Call):
        name = getattr(node.node, "name", getattr(node.node, "attr", ""))
        if name in MARKED:
            # The engine takes a message for HTML, so it must not hold what somebody wrote.
            if not isinstance(node.args[0], nodes.Const):
                yield f"{name}() of what is not written here, instead of the filter `translated`"
            return
        if name == "plural":
            yield "plural(…) instead of ngettext"
        if name in TECHNICAL:
            return
    for each in node.iter_child_nodes():
        yield from _find_words(each)


def _is_known(text: str) -> bool:
    return all(word in NAMES for word in WORD.findall(text))


class _Reader(HTMLParser):
    def __init__(self, found: list[str]) -> None:
        super().__init__()
        self.found = found
        self.silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        is_silent = tag in SILENT or values.get("translate") == "no"
        if (is_silent or (self.silent and tag == self.silent[0])) and tag not in VOID:
            self.silent.append(tag)
        for name, text in attrs:
            if name in SPOKEN or name.startswith(("data-say", "data-confirm")):
                self._note(text or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if self.silent and tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.silent and tag == self.silent[-1]:
            self.silent.pop()

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self._note(data)

    def _note(self, text: str) -> None:
        for piece in text.split(MARK):
            if not _is_known(piece):
                self.found.append(" ".join(piece.split()))
