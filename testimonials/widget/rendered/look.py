"""The styles of a server-rendered widget: the script's own styles and colours as CSS."""

import re
from functools import cache
from typing import Any

from testimonials.core.pictures.portraits import COLOURS
from testimonials.widget.script.assembly import FOLDER, read_look, read_styles, squeeze

# The element on our own pages that contains the cards; it prefixes every selector.
PAGE = ".tm-page"

_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_COMMA = re.compile(r",(?![^(]*\))")


def shadow_styles(config: dict[str, Any], theme: str, total: int) -> str:
    """Return the style sheet of a shadow root with `total` cards.

    `theme` overrides the configured one unless it is empty.
    """
    total_rule = f".tm{{--tm-total:{max(total, 1)}}}"
    return read_styles() + _still_styles() + total_rule + _colour_rules(config, theme, ".tm")


def page_styles(config: dict[str, Any], theme: str, total: int) -> str:
    """Return the same style sheet for one of our pages, limited to ``.tm-page``.

    The whole page has the colours.
    """
    total_rule = f".tm{{--tm-total:{max(total, 1)}}}"
    return _scope(read_styles() + _still_styles() + total_rule) + _colour_rules(
        config, theme, ":root"
    )


def _colour_rules(config: dict[str, Any], theme: str, root: str) -> str:
    """Return the rules that set a configuration's colours at the element `root`.

    The embedding page may override each with ``--testimonials-<name>``.
    """
    look = read_look()
    themes = ("light", "dark") if theme == "auto" else (theme or config["theme"],)
    palette = look["palettes"][config["palette"]]
    columns = [(palette[each] + " " + look["themes"][each]).split() for each in themes]
    colours = [
        "light-dark(#{},#{})".format(*pair) if len(pair) > 1 else f"#{pair[0]}"
        for pair in zip(*columns, strict=True)
    ]
    names = look["names"].split()
    rules = [_rule(root, names, colours)]
    for number in range(COLOURS):
        pair = colours[len(names) + 2 * number :][:2]
        rules.append(_rule(f".a{number}", ["back", "fore"], pair))
    return "".join(rules)


def _rule(selector: str, names: list[str], colours: list[str]) -> str:
    values = zip(names, colours, strict=False)
    body = ";".join(f"--tm-{name}:var(--testimonials-{name},{value})" for name, value in values)
    return f"{selector}{{{body}}}"


@cache
def _still_styles() -> str:
    return squeeze((FOLDER / "still.css").read_text(encoding="utf-8"), "")


def _scope(styles: str) -> str:
    """Prefix each selector with the page's class; drop rules about a shadow host."""

    def put(rule: re.Match[str]) -> str:
        selectors = [each.strip() for each in _COMMA.split(rule[1])]
        if selectors[0].startswith(":host"):
            return ""
        return ",".join(f"{PAGE} {each}" for each in selectors) + f"{{{rule[2]}}}"

    return _RULE.sub(put, styles)
