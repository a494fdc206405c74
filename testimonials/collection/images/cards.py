"""Drawing share pictures of testimonials and collection pages, in the decoder process."""

import base64
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from testimonials.collection.images.draw import (
    PAGE,
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
    paint_look,
)
from testimonials.collection.images.typesetting import SANS, Block, Text, Undrawable, draw_block

if TYPE_CHECKING:
    from PIL import Image as Pictures

# Increase this when the drawing changes.
STYLE = 4
SHRINK = 0.94


def draw_card(data: bytes) -> tuple[dict[str, str], bytes]:
    """Return the PNG for a description in JSON, or the letters that no font has."""
    shown = json.loads(data)
    try:
        size = SIZES[shown["size"]] if shown["name"] else PAGE
        paint = paint_look(shown["look"], shown["light"], shown["dark"], shown["person"])
        picture = make_ground(shown["look"], size, paint, shown["light"], shown["dark"])
        _Drawing(picture, size, paint, shown).draw()
    except Undrawable as error:
        return {"letters": error.letters}, b""
    out = io.BytesIO()
    picture.save(out, "PNG")
    return {}, out.getvalue()


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
        is_alone = self.size.is_tall or self.paint.is_card or not shown["name"]
        brand_width = round(self.inner * (0.85 if is_alone else 0.42))
        self.brand = self._line(shown["business"], self.size.role, brand_width)
        beside = 0 if is_alone else self.brand_reach + 32
        room = self.inner - photo - beside
        self.name = self._line(shown["name"], self.size.name, room)
        self.role = self._line(shown["role"], self.size.role, room)
        # Marks must be legible, so they may take three lines.
        self.marks = self._line(shown["marks"], round(self.size.role * 0.85), room, lines=3)

    @property
    def inner(self) -> int:
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
        """The width of the logo and the name."""
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
        """Draw the words above a footer with the author and the brand."""
        size = self.size
        foot = size.height - size.bottom - size.photo
        block = self._fit(foot - size.top - self.stars_height - 36)
        if self.shown["name"]:
            self._draw_quote_mark()
        free = foot - size.top - self.stars_height - block.height
        top = size.top if size.is_wide else size.top + free // 2
        self._draw_words(block, top)
        middle, end = foot + size.photo // 2, size.width - size.margin - self.brand_reach
        if self.shown["name"]:
            self._draw_author(foot)
        # A page has no author, so its brand is at the start edge.
        is_left = self.is_mirrored == bool(self.shown["name"])
        self._draw_brand(size.margin if is_left else end, middle)

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
        """Set the words in a size that suits their length, or smaller if they don't fit."""
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
        """Draw the logo or the letter, and the name, centered vertically at `middle`."""
        size, paint, logo = self.size, self.paint, self.shown["logo"]
        step = self.logo_width
        # The name follows the logo in the reading direction.
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
            self._write(self.brand, edge, middle - self.brand.height // 2, paint.text)

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
        self._write(block, left, (box[1] + box[3] - block.height) // 2, color)

    def _line(self, text: str, letters: int, width: int, lines: int = 1) -> Block | None:
        if not text:
            return None
        words = Text.read(text, self.paint.family, "text")
        return words.shorten(letters, width, lines * round(words.line_height * letters))

    def _write(self, block: Block, left: int, top: int, color: str) -> None:
        start = left + block.width * block.is_right_to_left
        draw_block(self.picture, block, (start, top), color)

    def _draw_line(self, block: Block, x: int, top: int, color: str) -> None:
        """Draw a line at the card's start edge, regardless of its own direction."""
        if block.is_right_to_left != self.is_mirrored:
            x += block.width if block.is_right_to_left else -block.width
        draw_block(self.picture, block, (x, top), color)
