"""Drawing with Pillow: the share picture, and shapes."""

import base64
import io
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from testimonials.collection.images.fonts import SANS, Undrawable
from testimonials.collection.images.typesetting import Block, Text, draw_block
from testimonials.core.images.colors import contrast, initials_of

if TYPE_CHECKING:
    from PIL import Image as Pictures
    from PIL import ImageDraw


# Shapes on drawn pictures, smooth at their edges: stars, quote mark, photo, rounded boxes.
#
# Pillow doesn't smooth edges, so each is drawn larger as a mask and then reduced.

FINER_SHAPES = 4
# A star in a cell of 20, with a round stroke of its own colour around it.
_CELL, _STAR_GAP = 20, 2
_STAR_STROKE = 1.7
_STAR = tuple(
    (
        10 + (8.7, 4.35)[corner % 2] * math.sin(corner * math.pi / 5),
        10.5 - (8.7, 4.35)[corner % 2] * math.cos(corner * math.pi / 5),
    )
    for corner in range(10)
)
# The quote mark in a box of 44 x 32: a tail, a ball; the other is the same further right.
_QUOTE_BOX = (44, 32)
_QUOTE_STEP = 22.7
_QUOTE = (
    ((17.5, 0), (20, 4.2)),
    ((20, 4.2), (15.6, 6.6), (12.6, 10), (12, 14.2)),
    ((12, 14.2), (12.6, 14), (13.3, 13.9), (14, 13.9)),
    ((14, 13.9), (18.3, 13.9), (21.2, 17.1), (21.2, 22.2)),
    ((21.2, 22.2), (21.2, 27.8), (17, 32), (11.4, 32)),
    ((11.4, 32), (4.6, 32), (0, 27), (0, 19.3)),
    ((0, 19.3), (0, 10.8), (6.2, 3.6), (17.5, 0)),
)

Draw = Callable[["ImageDraw.ImageDraw", float], None]
Box = tuple[int, int, int, int]


def stars_width(size: int) -> int:
    return round(size * (5 * _CELL + 4 * _STAR_GAP) / _CELL)


def draw_stars(
    picture: "Pictures.Image", rating: float, at: tuple[int, int], size: int, full: str, empty: str,
    *, is_mirrored: bool,
) -> None:  # fmt: skip
    """Draw five stars, as many of them full as the rating says, from the start edge."""
    width = stars_width(size)

    def row(canvas: "ImageDraw.ImageDraw", scale: float) -> None:
        for number in range(5):
            left = number * (_CELL + _STAR_GAP)
            points = [((left + x) * scale, y * scale) for x, y in _STAR]
            canvas.polygon(points, 255)
            canvas.line([*points, *points[:2]], 255, round(_STAR_STROKE * scale), "curve")

    mask = make_mask((width, size), size / _CELL, row)
    # Whole gaps between stars don't count.
    whole, part = divmod(rating, 1)
    reach = round(size * (whole * (_CELL + _STAR_GAP) + part * _CELL) / _CELL)
    if is_mirrored:
        at, reach = (at[0] - width, at[1]), width - reach
    for colour, left, right in (
        (full, 0, reach) if not is_mirrored else (full, reach, width),
        (empty, reach, width) if not is_mirrored else (empty, 0, reach),
    ):
        if right > left:
            part_of = mask.crop((left, 0, right, size))
            picture.paste(colour, (at[0] + left, at[1]), part_of)


def draw_quote(picture: "Pictures.Image", at: tuple[int, int], width: int, colour: str) -> None:
    def shape(canvas: "ImageDraw.ImageDraw", scale: float) -> None:
        for shift in (0, _QUOTE_STEP):
            points = [point for curve in _QUOTE for point in _bend(*curve)]
            canvas.polygon([((x + shift) * scale, y * scale) for x, y in points], 255)

    height = round(width * _QUOTE_BOX[1] / _QUOTE_BOX[0])
    mask = make_mask((width, height), width / _QUOTE_BOX[0], shape)
    picture.paste(colour, at, mask)


def draw_box(picture: "Pictures.Image", box: Box, radius: int, colour: str) -> None:
    mask = _rounded(box[2] - box[0], box[3] - box[1], radius)
    picture.paste(colour, box[:2], mask)


def draw_shadow(picture: "Pictures.Image", box: Box, radius: int, colour: str, size: int) -> None:
    """Draw the shadow of a box: below it, and as soft as `size`."""
    from PIL import Image as Pictures
    from PIL import ImageFilter

    # Small, since it is soft anyway.
    less = 8
    shadow = Pictures.new("L", (picture.width // less, picture.height // less))
    inner = (box[0] + size // 2, box[1] + size, box[2] - size // 2, box[3] + size // 2)
    if inner[2] > inner[0] and inner[3] > inner[1]:
        width, height = ((inner[at + 2] - inner[at]) // less for at in (0, 1))
        mask = _rounded(width, height, radius // less)
        shadow.paste(56, (inner[0] // less, inner[1] // less), mask)
    soft = shadow.filter(ImageFilter.GaussianBlur(size / less / 2)).resize(picture.size)
    picture.paste(colour, (0, 0), soft)


def draw_photo(picture: "Pictures.Image", content: bytes, at: tuple[int, int], size: int) -> None:
    """Draw a stored picture in a circle."""
    from PIL import Image as Pictures
    from PIL import ImageOps

    with Pictures.open(io.BytesIO(content)) as file:
        photo = ImageOps.fit(file.convert("RGB"), (size, size), Pictures.Resampling.LANCZOS)
    picture.paste(photo, at, _rounded(size, size, size // 2))


def make_mask(size: tuple[int, int], scale: float, draw: Draw) -> "Pictures.Image":
    """Return a mask that `draw` draws in its own units of `scale` pixels."""
    from PIL import Image as Pictures
    from PIL import ImageDraw

    large = Pictures.new("L", (size[0] * FINER_SHAPES, size[1] * FINER_SHAPES))
    draw(ImageDraw.Draw(large), scale * FINER_SHAPES)
    return large.reduce(FINER_SHAPES)


def mix(colour: str, other: str, share: float) -> str:
    """Return a colour with this share of itself on another."""
    pairs = zip(*(bytes.fromhex(each[1:]) for each in (colour, other)), strict=True)
    return "#" + bytes(round(a * share + b * (1 - share)) for a, b in pairs).hex()


def _rounded(width: int, height: int, radius: int) -> "Pictures.Image":
    def box(canvas: "ImageDraw.ImageDraw", scale: float) -> None:
        edges = (0, 0, width * scale - 1, height * scale - 1)
        canvas.rounded_rectangle(edges, radius * scale, 255)

    return make_mask((width, height), 1, box)


def _bend(*points: tuple[float, float]) -> list[tuple[float, float]]:
    """Return points on a Bézier curve, or a line's two."""
    if len(points) == 2:
        return list(points)
    found = []
    for step in range(13):
        t = step / 12
        weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
        found.append(
            (
                sum(w * x for w, (x, _y) in zip(weights, points, strict=True)),
                sum(w * y for w, (_x, y) in zip(weights, points, strict=True)),
            )
        )
    return found


# Draws the picture that a shared link to a collection page shows, in the decoder's process.

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
