"""Drawing share pictures of collection pages and testimonials, in the decoder process."""

import base64
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from testimonials.collection.images.draw import (
    SIZES,
    Box,
    Paint,
    Size,
    draw_box,
    draw_photo,
    draw_quote,
    draw_shadow,
    draw_stars,
    make_ground,
    make_mask,
    mix,
    paint_look,
)
from testimonials.collection.images.typesetting import SANS, Block, Text, Undrawable, draw_block
from testimonials.core.images.colors import contrast, initials_of

if TYPE_CHECKING:
    from PIL import Image as Pictures
    from PIL import ImageDraw

# The picture of a collection page.

WIDTH, HEIGHT = 1200, 630
# Increase these when the drawing changes.
STYLE, TESTIMONIAL_STYLE = 3, 1
MARGIN = 84
# The card's distance from the edge, its radius, and the height of its bar.
EDGE, RADIUS, BAR = 36, 32, 14
TILE = 104
STAR_SIZE, STAR_STEP = 60, 70
STARS = 4 * STAR_STEP + STAR_SIZE

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
    """Return the PNG of a description in JSON: logo or initial, name, headline and five stars.

    A text with letters that no font has is left out.
    """
    return {}, _draw_page(json.loads(data))


def _draw_page(shown: dict[str, Any]) -> bytes:
    from PIL import Image as Pictures

    colors = THEMES.get(shown["theme"], THEMES["light"])
    logo = _read_logo(shown["logo"])
    width = logo.width if logo else TILE
    start = MARGIN + width + 28
    name = _set(shown["name"], range(42, 26, -2), 1, WIDTH - MARGIN - start)
    headline = _set(shown["headline"], range(76, 38, -2), 3, WIDTH - 2 * MARGIN)
    leading = headline or name
    is_mirrored = leading is not None and leading.is_right_to_left
    # Centered without a headline.
    top = 92 if headline else 200

    def place(left: int, size: int) -> int:
        if leading is None:
            return (WIDTH - (STARS if size == STARS else width)) // 2
        return WIDTH - left - size if is_mirrored else left

    picture = Pictures.new("RGB", (WIDTH, HEIGHT), mix(shown["button"], colors["page"], 0.12))
    _draw_ground(picture, shown, colors)
    tile, middle = place(MARGIN, width), top + TILE // 2
    if logo:
        picture.paste(logo, (tile, top + (TILE - logo.height) // 2), logo)
    else:
        _draw_tile(picture, shown, colors, (tile, top, tile + TILE, top + TILE))
    if name:
        left = place(start, name.width)
        _write(picture, name, left, middle - name.height // 2, colors["text"])
    stars = HEIGHT - 158 if headline else top + TILE + 48
    for index in range(5):
        left = place(MARGIN - 6, STARS) + index * STAR_STEP
        _draw_star(picture, (left, stars), STAR_SIZE, colors["star"], colors["star_line"])
    if headline:
        left, middle = place(MARGIN, headline.width), (top + TILE + stars) // 2
        _write(picture, headline, left, middle - headline.height // 2, colors["text"])
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()


def _draw_ground(picture: "Pictures.Image", shown: dict[str, Any], colors: dict[str, str]) -> None:
    """Draw a card with a border, and a bar in the button's color if that is visible on the card."""
    is_visible = contrast(shown["button"], colors["card"]) > 1.3
    outer = (EDGE, EDGE, WIDTH - EDGE, HEIGHT - EDGE)
    left, top, right, bottom = inner = _shrink(outer, 2)
    draw_box(picture, outer, RADIUS, colors["line"])
    draw_box(picture, inner, RADIUS - 2, shown["button"] if is_visible else colors["secondary"])
    draw_box(picture, (left, top, right, bottom + 2 - BAR), RADIUS - 2, colors["card"])


def _draw_tile(
    picture: "Pictures.Image", shown: dict[str, Any], colors: dict[str, str], box: Box
) -> None:
    """Draw the initial of the name, or a star, instead of a logo."""
    draw_box(picture, box, 26, colors["line"])
    draw_box(picture, _shrink(box, 2), 24, shown["button"])
    initial = _set(initials_of(shown["name"])[:1], range(54, 53, -1), 1, TILE)
    if initial:
        left, top = box[0] + (TILE - initial.width) // 2, box[1] + (TILE - initial.height) // 2
        _write(picture, initial, left, top, shown["button_text"])
    else:
        at = (box[0] + 24, box[1] + 24)
        _draw_star(picture, at, 56, shown["button_text"], shown["button_text"])


def _draw_star(
    picture: "Pictures.Image", at: tuple[int, int], size: int, color: str, line: str
) -> None:
    def fill(canvas: "ImageDraw.ImageDraw", scale: float) -> None:
        canvas.polygon([(x * scale, y * scale) for x, y in STAR], 255)

    def outline(canvas: "ImageDraw.ImageDraw", scale: float) -> None:
        points = [(x * scale, y * scale) for x, y in (*STAR, *STAR[:2])]
        canvas.line(points, 255, round(72 / size * scale), "curve")

    for shade, draw in ((color, fill), (line, outline)):
        picture.paste(shade, at, make_mask((size, size), size / 24, draw))


def _shrink(box: Box, by: int) -> Box:
    return box[0] + by, box[1] + by, box[2] - by, box[3] - by


def _write(picture: "Pictures.Image", block: Block, left: int, top: int, color: str) -> None:
    draw_block(picture, block, (left + block.width * block.is_right_to_left, top), color)


def _set(text: str, sizes: range, most: int, width: int) -> Block | None:
    """Return the text in the largest size that fits, or shortened in the smallest."""
    try:
        words = Text.read(" ".join(text.split()), SANS, "display")
    except Undrawable:
        return None
    if not words.clusters:
        return None
    for size in sizes:
        if block := words.set(size, width, most * round(size * words.line_height)):
            return block
    return words.shorten(sizes[-1], width, most * round(sizes[-1] * words.line_height))


def _read_logo(content: str | None) -> "Pictures.Image | None":
    from PIL import Image as Pictures

    if content is None:
        return None
    with Pictures.open(io.BytesIO(base64.b64decode(content))) as file:
        logo = file.convert("RGBA")
    logo.thumbnail((TILE * 3, TILE), Pictures.Resampling.LANCZOS)
    return logo


# The picture of a testimonial.

SHRINK = 0.94


def draw_testimonial(data: bytes) -> tuple[dict[str, str], bytes]:
    """Return the PNG of a description in JSON, or the letters that no font has."""
    try:
        return {}, _draw_testimonial(json.loads(data))
    except Undrawable as error:
        return {"letters": error.letters}, b""


def _draw_testimonial(shown: dict[str, Any]) -> bytes:
    size = SIZES[shown["size"]]
    paint = paint_look(shown["look"], shown["light"], shown["dark"], shown["person"])
    picture = make_ground(shown["look"], size, paint, shown["light"], shown["dark"])
    _Drawing(picture, size, paint, shown).draw()
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


@dataclass
class _Drawing:
    picture: "Pictures.Image"
    size: Size
    paint: Paint
    shown: dict[str, Any]

    def __post_init__(self) -> None:
        shown, family = self.shown, self.paint.family
        self.words = Text.read(shown["text"], family, "display", shown["highlights"])
        self.is_mirrored = self.words.is_right_to_left
        photo = round(self.size.photo * 1.26)
        is_alone = self.size.is_tall or self.paint.is_card
        brand_width = round(self.inner * (0.85 if is_alone else 0.42))
        self.brand = self._line(shown["business"], self.size.role, brand_width)
        beside = 0 if is_alone else self.brand_reach + 32
        room = self.inner - photo - beside
        self.name = self._line(shown["name"], self.size.name, room)
        self.role = self._line(shown["role"], self.size.role, room)
        # They must be legible, so they may take three lines.
        self.marks = self._line(shown["marks"], round(self.size.role * 0.85), room, lines=3)

    @property
    def inner(self) -> int:
        """The width of the words."""
        card = 2 * self.padding if self.paint.is_card else 0
        return self.size.width - 2 * self.size.margin - card

    @property
    def padding(self) -> int:
        return round(self.size.margin * 0.85)

    @property
    def stars_height(self) -> int:
        return round(self.size.star * 1.8) if self.shown["rating"] is not None else 0

    @property
    def start(self) -> int:
        edge = (self.size.width - self.inner) // 2
        return self.size.width - edge if self.is_mirrored else edge

    @property
    def brand_reach(self) -> int:
        """The width of the logo with the name."""
        reach = self.logo_width
        if self.brand:
            reach += self.brand.width + (round(self.size.logo * 0.32) if reach else 0)
        return reach

    @property
    def logo_width(self) -> int:
        logo = self.shown["logo"]
        if not logo:
            return self.size.logo
        return round(self.size.logo * min(6.0, int(logo["width"]) / int(logo["height"])))

    def draw(self) -> None:
        if self.paint.is_card:
            self._draw_card()
        elif self.size.is_tall:
            self._draw_tall()
        else:
            self._draw_wide()

    def _draw_wide(self) -> None:
        """Draw the words above a footer with author and brand."""
        size = self.size
        foot = size.height - size.bottom - size.photo
        block = self._fit(foot - size.top - self.stars_height - 36)
        self._draw_quote_mark()
        free = foot - size.top - self.stars_height - block.height
        top = size.top if size.is_wide else size.top + free // 2
        self._draw_words(block, top)
        self._draw_author(foot)
        middle = foot + size.photo // 2
        end = size.margin if self.is_mirrored else size.width - size.margin - self.brand_reach
        self._draw_brand(end, middle)

    def _draw_tall(self) -> None:
        size = self.size
        bottom = size.height - size.bottom
        gap = round(size.margin * 0.7)
        below = gap + size.photo
        room = bottom - size.logo - 40 - size.top
        block = self._fit(room - self.stars_height - below)
        free = room - self.stars_height - block.height - below
        self._draw_quote_mark()
        self._draw_words(block, size.top + free // 2)
        self._draw_author(size.top + free // 2 + self.stars_height + block.height + gap)
        left = self.start - self.brand_reach if self.is_mirrored else self.start
        self._draw_brand(left, bottom - size.logo // 2)

    def _draw_card(self) -> None:
        size, padding = self.size, self.padding
        top, bottom = (48, 40) if size.is_wide else (size.top, size.bottom)
        gap = round(size.margin * 0.42)
        room = size.height - top - bottom - size.logo - (24 if size.is_wide else 56)
        stars = size.star + gap if self.stars_height else 0
        around = 2 * padding + stars + gap + size.photo
        block = self._fit(room - around)
        height = around + block.height
        y = top + (room - height) // 2
        box = (size.margin, y, size.width - size.margin, y + height)
        radius = round(size.margin * 0.5)
        draw_shadow(self.picture, box, radius, self.paint.text, 80)
        draw_box(self.picture, box, radius, self.shown["light"]["card"])
        self._draw_words(block, y + padding, stars)
        self._draw_author(y + padding + stars + block.height + gap)
        left = (size.width - self.brand_reach) // 2
        self._draw_brand(left, size.height - bottom - size.logo // 2)

    def _fit(self, most: float) -> Block:
        """Set the words in a size for their length, or smaller if they don't fit."""
        weight = self.words.weight
        letters: float = self.size.words[0 if weight <= 64 else 1 if weight <= 140 else 2]
        if self.paint.is_card:
            letters *= 0.9 if self.size.is_wide else 0.86
        if self.paint.family == SANS:
            letters *= SHRINK
        while letters >= self.size.least:
            if block := self.words.set(round(letters), self.inner, most):
                return block
            letters *= SHRINK
        return self.words.shorten(self.size.least, self.inner, most)

    def _draw_quote_mark(self) -> None:
        size = self.size
        width = round(size.star * size.quote)
        left = size.margin if self.is_mirrored else size.width - size.margin - width
        top = size.top - 20 if size.is_wide else size.top
        draw_quote(self.picture, (left, top), width, self.paint.quote)

    def _draw_words(self, block: Block, top: int, stars_height: int | None = None) -> None:
        rating, paint = self.shown["rating"], self.paint
        if rating is not None:
            draw_stars(
                self.picture, rating, (self.start, top), self.size.star, paint.star, paint.empty,
                is_mirrored=self.is_mirrored,
            )  # fmt: skip
        below = self.stars_height if stars_height is None else stars_height
        draw_block(self.picture, block, (self.start, top + below), paint.text, paint.mark)

    def _draw_author(self, top: int) -> None:
        size, paint = self.size, self.paint
        left = self.start - size.photo if self.is_mirrored else self.start
        if self.shown["photo"]:
            draw_photo(self.picture, base64.b64decode(self.shown["photo"]), (left, top), size.photo)
        else:
            box = (left, top, left + size.photo, top + size.photo)
            draw_box(self.picture, box, size.photo // 2, paint.back)
            self._draw_middle(self.shown["initials"], box, round(size.photo * 0.38), paint.fore)
        step = round(size.photo * 1.26)
        x = self.start - step if self.is_mirrored else self.start + step
        lines = [each for each in (self.name, self.role, self.marks) if each]
        y = top + (size.photo - sum(each.height for each in lines)) // 2
        for block in lines:
            self._draw_line(block, x, y, paint.text if block is self.name else paint.muted)
            y += block.height

    def _draw_brand(self, left: int, middle: int) -> None:
        """Draw the logo or the letter, and the name, centered at a height."""
        size, paint, logo = self.size, self.paint, self.shown["logo"]
        step = self.logo_width
        # The name follows the logo in reading direction.
        x = left + self.brand_reach - step if self.is_mirrored else left
        box = (x, middle - size.logo // 2, x + step, middle + size.logo // 2)
        if logo:
            self._draw_logo(base64.b64decode(logo["content"]), box)
        else:
            draw_box(self.picture, box, round(size.logo * 0.26), paint.tile)
            self._draw_middle(self.shown["letter"], box, round(size.logo * 0.52), paint.on_tile)
        if self.brand:
            gap = round(size.logo * 0.32)
            edge = x - gap - self.brand.width if self.is_mirrored else x + step + gap
            _write(self.picture, self.brand, edge, middle - self.brand.height // 2, paint.text)

    def _draw_logo(self, content: bytes, box: Box) -> None:
        from PIL import Image as Pictures
        from PIL import ImageOps

        with Pictures.open(io.BytesIO(content)) as file:
            logo = file.convert("RGBA")
        space = 0
        if self.paint.is_dark and logo.getchannel("A").getextrema() != (255, 255):
            # A transparent logo may be made for white pages.
            space = 6
            draw_box(self.picture, box, 10, "#FFFFFF")
        room = (box[2] - box[0] - 2 * space, box[3] - box[1] - 2 * space)
        logo = ImageOps.contain(logo, room, Pictures.Resampling.LANCZOS)
        at = ((box[0] + box[2] - logo.width) // 2, (box[1] + box[3] - logo.height) // 2)
        self.picture.paste(logo, at, logo)

    def _draw_middle(self, text: str, box: Box, letters: int, color: str) -> None:
        words = Text.read(text, self.paint.family, "text")
        block = words.shorten(letters, box[2] - box[0], words.line_height * letters)
        left = (box[0] + box[2] - block.width) // 2
        _write(self.picture, block, left, (box[1] + box[3] - block.height) // 2, color)

    def _line(self, text: str, letters: int, width: int, lines: int = 1) -> Block | None:
        if not text:
            return None
        words = Text.read(text, self.paint.family, "text")
        return words.shorten(letters, width, lines * round(words.line_height * letters))

    def _draw_line(self, block: Block, x: int, top: int, color: str) -> None:
        """Draw a line at the card's start edge, whatever its own direction."""
        if block.is_right_to_left != self.is_mirrored:
            x += block.width if block.is_right_to_left else -block.width
        draw_block(self.picture, block, (x, top), color)
