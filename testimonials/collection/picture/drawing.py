"""Draws the picture that a shared link to a collection page shows."""

import io
import threading
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from testimonials.collection.picture.fonts import find_font, is_right_to_left, without_symbols
from testimonials.core.pictures.colours import contrast

if TYPE_CHECKING:
    from PIL import Image as Pictures
    from PIL import ImageDraw

WIDTH, HEIGHT = 1200, 630
# Increase this when the drawing changes.
STYLE = 1
MARGIN = 84
# Where the card lies on the picture, and its bar in the button's colour.
EDGE, RADIUS, BAR = 36, 32, 14
TILE = 104
NAME_SIZES = range(42, 26, -2)
HEADLINE_SIZES = range(76, 38, -2)
INITIAL = range(54, 53, -1)
LINES = 3
STAR_SIZE, STAR_STEP = 60, 70
STARS = 4 * STAR_STEP + STAR_SIZE
# Shapes are drawn larger and then reduced, since Pillow doesn't smooth edges.
FINER = 3

THEMES: dict[str, dict[str, str]] = {
    # page, card, line, text, secondary; then the star's fill and outline (design.md, "Tokens").
    "light": {
        "page": "#FAFAFA", "card": "#FFFFFF", "line": "#E4E4E7", "text": "#18181B",
        "secondary": "#52525B", "star": "#F59E0B", "star_line": "#B45309",
    },
    "dark": {
        "page": "#0B0B0D", "card": "#18181B", "line": "#3F3F46", "text": "#F4F4F5",
        "secondary": "#A1A1AA", "star": "#FBBF24", "star_line": "#FBBF24",
    },
}  # fmt: skip
# The star of all pages, in a square of 24.
STAR = (
    (12, 2.7), (14.8, 8.7), (21.3, 9.5), (16.5, 14), (17.8, 20.5),
    (12, 17.3), (6.2, 20.5), (7.5, 14), (2.7, 9.5), (9.2, 8.7),
)  # fmt: skip

# One drawing at a time in a process, since it takes a while.
drawing = threading.Lock()


@dataclass(frozen=True)
class Shown:
    """All that is drawn; `logo` is a WebP file."""

    name: str
    headline: str
    theme: str
    button: str
    button_text: str
    logo: bytes | None


def draw_share_picture(shown: Shown) -> bytes:
    """Return the PNG file, 1200 x 630: logo or initial, name, headline and five stars.

    A text that no font on this machine can show is left out.
    """
    from PIL import Image as Pictures

    colours = THEMES.get(shown.theme, THEMES["light"])
    is_mirrored = is_right_to_left(shown.headline or shown.name)
    logo = _read_logo(shown.logo)
    width = logo.width if logo else TILE
    start = MARGIN + width + 28
    name = _lay_out(without_symbols(shown.name), NAME_SIZES, 1, WIDTH - MARGIN - start)
    headline = _lay_out(without_symbols(shown.headline), HEADLINE_SIZES, LINES, WIDTH - 2 * MARGIN)
    initial = None if logo else _lay_out(without_symbols(shown.name)[:1].upper(), INITIAL, 1, TILE)
    # Without a headline the rest is centred.
    top = 92 if headline else 200

    def place(left: int, size: int) -> int:
        if not headline and not name:
            wide = STARS if size == STARS else width
            return (WIDTH - wide) // 2
        return WIDTH - left - size if is_mirrored else left

    tile = (place(MARGIN, width), top)
    stars = (place(MARGIN - 6, STARS), HEIGHT - 158 if headline else top + TILE + 48)
    large = Pictures.new("RGB", (WIDTH * FINER, HEIGHT * FINER))
    _draw_shapes(large, shown, colours, stars, None if logo else (*tile, initial is None))
    picture = large.reduce(FINER)
    if logo:
        picture.paste(logo, (tile[0], top + (TILE - logo.height) // 2), logo)
    if initial:
        _write(picture, initial, (tile[0] + TILE // 2, top + TILE // 2), shown.button_text, "m")
    anchor, edge = ("r", WIDTH) if is_mirrored else ("l", 0)
    if name:
        _write(picture, name, (abs(edge - start), top + TILE // 2), colours["text"], anchor)
    if headline:
        middle = (top + TILE + stars[1]) // 2
        _write(picture, headline, (abs(edge - MARGIN), middle), colours["text"], anchor)
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()


@dataclass(frozen=True)
class _Text:
    """Lines of text in the size that fits."""

    lines: tuple[str, ...]
    font: Any
    height: int
    weight: int


def _lay_out(text: str, sizes: range, most: int, width: int) -> _Text | None:
    """Return the text in the largest size that fits, else cut in the smallest."""
    font_of = find_font(text)
    if not text or font_of is None:
        return None
    lines: list[str] = []
    for size in sizes:
        font, weight = font_of(size)

        def measure(part: str, font: Any = font, weight: int = weight) -> float:
            return float(font.getlength(part)) + 2 * weight

        lines = _wrap(text, measure, width)
        if len(lines) <= most:
            break
    else:
        lines = lines[:most]
        while measure(lines[-1] + "…") > width:
            lines[-1] = lines[-1][:-1].rstrip()
        lines[-1] += "…"
    return _Text(tuple(lines), font, round(size * 1.22), weight)


def _wrap(text: str, measure: Callable[[str], float], width: int) -> list[str]:
    """Break at spaces; inside a word only where it alone is too long, or has no spaces."""
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}".strip()
        if measure(joined) <= width:
            lines[-1] = joined
            continue
        lines += [""] if lines[-1] else []
        for letter in word:
            if lines[-1] and measure(lines[-1] + letter) > width:
                # A mark belongs to the letter before it.
                if unicodedata.combining(letter):
                    lines[-1] += letter
                    continue
                lines.append("")
            lines[-1] += letter
    return lines


def _write(
    picture: "Pictures.Image", text: _Text, at: tuple[int, int], colour: str, anchor: str
) -> None:
    """Write the lines around the height of `at`; `anchor` is l, m or r."""
    from PIL import ImageDraw

    draw = ImageDraw.Draw(picture)
    y = at[1] - text.height * (len(text.lines) - 1) / 2
    for line in text.lines:
        draw.text((at[0], y), line, colour, text.font, anchor + "m", stroke_width=text.weight)
        y += text.height


def _read_logo(content: bytes | None) -> "Pictures.Image | None":
    from PIL import Image as Pictures

    if content is None:
        return None
    with Pictures.open(io.BytesIO(content)) as file:
        logo = file.convert("RGBA")
    logo.thumbnail((TILE * 3, TILE), Pictures.Resampling.LANCZOS)
    return logo


def _draw_shapes(
    large: "Pictures.Image",
    shown: Shown,
    colours: dict[str, str],
    stars: tuple[int, int],
    tile: tuple[int, int, bool] | None,
) -> None:
    """Draw everything but texts; a tile without an initial has a star."""
    from PIL import ImageDraw

    canvas = ImageDraw.Draw(large)
    large.paste(_mix(shown.button, colours["page"], 0.12), (0, 0, *large.size))

    def fill(
        box: tuple[int, ...], radius: int, colour: str | None, line: str | None = None
    ) -> None:
        sides = [side * FINER for side in box]
        canvas.rounded_rectangle(sides, radius * FINER, colour, line, 2 * FINER if line else 0)

    card = (EDGE, EDGE, WIDTH - EDGE, HEIGHT - EDGE)
    # The bar is the bottom of a card in the button's colour.
    fill(card, RADIUS, _visible(shown.button, colours))
    fill((*card[:3], card[3] - BAR), RADIUS, colours["card"])
    fill(card, RADIUS, None, colours["line"])
    for index in range(5):
        _draw_star(canvas, stars[0] + index * STAR_STEP, stars[1], STAR_SIZE, colours)
    if tile:
        left, top, has_star = tile
        fill((left, top, left + TILE, top + TILE), 26, shown.button, colours["line"])
        if has_star:
            only = {"star": shown.button_text, "star_line": shown.button_text}
            _draw_star(canvas, left + 24, top + 24, 56, only)


def _draw_star(
    canvas: "ImageDraw.ImageDraw", left: int, top: int, size: int, colours: dict[str, str]
) -> None:
    points = [((left + x / 24 * size) * FINER, (top + y / 24 * size) * FINER) for x, y in STAR]
    canvas.polygon(points, colours["star"])
    canvas.line([*points, *points[:2]], colours["star_line"], 3 * FINER, "curve")


def _mix(colour: str, other: str, share: float) -> str:
    pairs = zip(*(bytes.fromhex(each[1:]) for each in (colour, other)), strict=True)
    return "#" + bytes(round(a * share + b * (1 - share)) for a, b in pairs).hex()


def _visible(button: str, colours: dict[str, str]) -> str:
    """Return the button's colour, or a line's where it wouldn't show on the card."""
    return button if contrast(button, colours["card"]) > 1.3 else colours["secondary"]
