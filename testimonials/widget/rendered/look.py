"""The styles of a server-rendered widget: the script's own styles, and a design's values as CSS."""

import re
from functools import cache

from testimonials.widget.content.saved_widgets import WidgetSettings
from testimonials.widget.design.colours import NAMES, Colours, read_colours
from testimonials.widget.script.assembly import FOLDER, squeeze

# The element on our own pages that contains the cards; it prefixes every selector.
PAGE = ".tm-page"
# The style sheets beside the core's, by the kinds that need them.
MORE_SHEETS = {
    "layouts": ("carousel", "list", "strip"),
    "shapes": ("badge", "badge-sentence", "badge-card", "people"),
}
FONTS = {"serif": "Georgia,serif", "system": "system-ui,sans-serif"}
# In a page that isn't ours, the font of the design "page" is that page's.
PAGE_FONT = (
    ":host{font-family:inherit!important}"
    ".tm.tm,.text.text,.average.average"
    "{font-family:var(--testimonials-font,inherit)}"
)
# From these widths there are two, three and four columns.
WIDTHS = (560, 900, 1240)
FACTORS = {"narrow": 0.85, "wide": 1.3}

_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_COMMA = re.compile(r",(?![^(]*\))")


def shadow_styles(
    settings: WidgetSettings, theme: str, kind: str, total: int, *, has_extras: bool = False
) -> str:
    """Return the style sheet of a shadow root with `total` cards.

    `theme` overrides the configured one unless it is empty.
    """
    styles = _read_styles(kind, has_extras) + _column_rules(settings.design["cardWidth"], total)
    font = "" if settings.design["font"] in FONTS else PAGE_FONT
    return styles + font + _value_rules(settings, theme, ".tm")


def page_styles(
    settings: WidgetSettings, theme: str, kind: str, total: int, *, has_extras: bool = False
) -> str:
    """Return the same style sheet for one of our pages, limited to ``.tm-page``.

    The whole page has the colours.
    """
    columns = _column_rules(settings.design["cardWidth"], total, PAGE)
    return _read_scoped_styles(kind, has_extras) + columns + _value_rules(settings, theme, ":root")


def _value_rules(settings: WidgetSettings, theme: str, root: str) -> str:
    """Return the rule that sets a design's values at the element `root`.

    The embedding page may override each colour with ``--testimonials-<name>``.
    """
    theme, design = theme or settings.config["theme"], settings.design
    derived = read_colours(settings.config, design)
    themes = {
        "light": _list_colours(derived.light),
        "dark": _list_colours(derived.dark, is_dark=True),
    }
    columns = list(themes.values()) if theme == "auto" else [themes[theme]]
    names = (*NAMES, "shade", "glyph")
    values = [
        f"--tm-{name}:var(--testimonials-{name.rstrip('012')},{_write_colour(pair)})"
        for name, *pair in zip(names, *columns, strict=True)
    ]
    radius, photo = design["radius"], design["photoSize"]
    font = FONTS.get(design["font"], FONTS["system"])
    values += [
        f"--tm-radius:{radius}px",
        f"--tm-round:{'50%' if radius > 6 else '8px' if radius else '0'}",
        f"--tm-font:{font}",
        f"--tm-heading:{font}",
    ]
    # The size of photos goes before what a density sets at the same element.
    size = f"{root if root == '.tm' else PAGE + ' .tm'}.tm{{--tm-photo:{photo}px}}"
    return f"{root}{{{';'.join(values)}}}" + (size if photo not in (0, 48) else "")


def _list_colours(colours: Colours, *, is_dark: bool = False) -> list[str]:
    """Return the values of all colours, and of the two that the script makes of them."""
    shade, glyph = ("#0000", "tint") if is_dark else (colours["text"] + "12", "mark")
    return [*(colours[name] for name in NAMES), shade, colours[glyph]]


def _write_colour(pair: list[str]) -> str:
    return "light-dark({},{})".format(*pair) if len(pair) > 1 else pair[0]


def _column_rules(card_width: str, total: int, page: str = "") -> str:
    """Return how many columns there are, by the width of the container."""
    total, view = max(total, 1), f"{page} .view".strip()
    rules = [f"{view}{{--tm-columns:1}}"]
    for columns, width in enumerate(WIDTHS, start=2):
        least = round(width * FACTORS.get(card_width, 1))
        rules.append(
            f"@container (min-width:{least}px){{{view}{{--tm-columns:{min(columns, total)}}}}}"
        )
    return "".join(rules)


@cache
def _read_styles(kind: str, has_extras: bool) -> str:
    sheets = [name for name, kinds in MORE_SHEETS.items() if kind in kinds]
    sheets += ["extras"] if has_extras else []
    files = ["widget.css", *(f"{name}/{name}.css" for name in sheets), "still.css"]
    return "".join(squeeze((FOLDER / name).read_text(encoding="utf-8"), "") for name in files)


@cache
def _read_scoped_styles(kind: str, has_extras: bool) -> str:
    return _scope(_read_styles(kind, has_extras))


def _scope(styles: str) -> str:
    """Prefix each selector with the page's class; drop what is about a shadow host."""

    def put(rule: re.Match[str]) -> str:
        selectors = [each.strip() for each in _COMMA.split(rule[1])]
        # The steps of an animation are no selectors.
        if selectors[0] in ("from", "to"):
            return rule[0]
        kept = [f"{PAGE} {each}" for each in selectors if not each.startswith(":host")]
        return ",".join(kept) + f"{{{rule[2]}}}" if kept else ""

    return _RULE.sub(put, styles)
