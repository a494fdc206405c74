"""Draws the picture that a shared link to a collection page shows, in the decoder's process."""

import base64
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from testimonials.collection.picture.shapes import mix
from testimonials.collection.picture.typesetting.blocks import Block, Text, draw_block
from testimonials.collection.picture.typesetting.fonts import SANS, Undrawable
from testimonials.core.pictures.colours import contrast
from testimonials.core.pictures.portraits import initials_of

if TYPE_CHECKING:
    from PIL import Image as Pictures
    from PIL import ImageDraw

WIDTH, HEIGHT = 1200, 630
# Increase this when the drawing changes.
STYLE = 2
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


def draw_share_picture(data: bytes) -> tuple[dict[str, str], bytes]:
    """Return the PNG of a `Shown` in JSON: logo or initial, name, headline and five stars.

    A text with letters that no font here can draw is left out.
    """
    return {}, _draw(Shown(**json.loads(data)))


@dataclass(frozen=True)
class Shown:
    """All that is drawn; `logo` is a WebP file in Base64."""

    name: str
    headline: str
    theme: str
    button: str
    button_text: str
    logo: str | None


def _draw(shown: Shown) -> bytes:
    from PIL import Image as Pictures

    colours = THEMES.get(shown.theme, THEMES["light"])
    logo = _read_logo(shown.logo)
    width = logo.width if logo else TILE
    start = MARGIN + width + 28
    name = _set(shown.name, NAME_SIZES, 1, WIDTH - MARGIN - start)
    headline = _set(shown.headline, HEADLINE_SIZES, LINES, WIDTH - 2 * MARGIN)
    initial = None if logo else _set(initials_of(shown.name)[:1], INITIAL, 1, TILE)
    leading = headline or name
    is_mirrored = leading is not None and leading.is_right_to_left
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
    middle = top + TILE // 2
    if initial:
        _write(picture, initial, tile[0] + (TILE - initial.width) // 2, middle, shown.button_text)
    if name:
        _write(picture, name, place(start, name.width), middle, colours["text"])
    if headline:
        middle = (top + TILE + stars[1]) // 2
        _write(picture, headline, place(MARGIN, headline.width), middle, colours["text"])
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()


def _write(picture: "Pictures.Image", block: Block, left: int, middle: int, colour: str) -> None:
    edge = left + block.width if block.is_right_to_left else left
    draw_block(picture, block, (edge, middle - block.height // 2), colour)


def _set(text: str, sizes: range, most: int, width: int) -> Block | None:
    """Return the text in the largest size that fits, else cut in the smallest."""
    try:
        read = Text.read(" ".join(text.split()), SANS, "display")
    except Undrawable:
        return None
    if not read.clusters:
        return None
    for size in sizes:
        if block := read.set(size, width, most * round(size * read.line_height)):
            return block
    return read.shorten(sizes[-1], width, most * round(sizes[-1] * read.line_height))


def _read_logo(content: str | None) -> "Pictures.Image | None":
    from PIL import Image as Pictures

    if content is None:
        return None
    with Pictures.open(io.BytesIO(base64.b64decode(content))) as file:
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
    large.paste(mix(shown.button, colours["page"], 0.12), (0, 0, *large.size))

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


def _visible(button: str, colours: dict[str, str]) -> str:
    """Return the button's colour, or a line's where it wouldn't show on the card."""
    return button if contrast(button, colours["card"]) > 1.3 else colours["secondary"]
