"""Draws the picture of one testimonial. It runs in the process that decodes pictures."""

import base64
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from testimonials.collection.images.draw import (
    draw_box,
    draw_photo,
    draw_quote,
    draw_shadow,
    draw_stars,
)
from testimonials.collection.images.fonts import SANS, Undrawable
from testimonials.collection.images.looks import SIZES, Paint, Size, make_ground, paint_look
from testimonials.collection.images.typesetting import Block, Text, draw_block

if TYPE_CHECKING:
    from PIL import Image as Pictures

# Increase this when the drawing changes.
STYLE = 1
SHRINK = 0.94


def draw_testimonial(data: bytes) -> tuple[dict[str, str], bytes]:
    """Return a PNG of the description in JSON, or the letters that no font here can draw."""
    try:
        return {}, _draw(json.loads(data))
    except Undrawable as error:
        return {"letters": error.letters}, b""


def _draw(shown: dict[str, Any]) -> bytes:
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
        brand_width = round(self.inner * 0.42)
        self.brand = self._line(shown["business"], self.size.role, brand_width)
        beside = 0 if self.size.is_tall or self.paint.is_card else self.brand_reach + 32
        room = self.inner - photo - beside
        self.name = self._line(shown["name"], self.size.name, room)
        self.role = self._line(shown["role"], self.size.role, room)

    @property
    def inner(self) -> int:
        """Return the width of what is written."""
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
        """Return the width of the logo with the name."""
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
        """Draw the words above a foot with author and brand."""
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
        """Set the words as large as their length asks for, smaller where they don't fit."""
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
        lines = [each for each in (self.name, self.role) if each]
        y = top + (size.photo - sum(each.height for each in lines)) // 2
        for block, colour in ((self.name, paint.text), (self.role, paint.muted)):
            if block:
                self._draw_line(block, x, y, colour)
                y += block.height

    def _draw_brand(self, left: int, middle: int) -> None:
        """Draw logo or letter and the name around a height."""
        size, paint, logo = self.size, self.paint, self.shown["logo"]
        step = self.logo_width
        # The name stands on the side to which the whole is read.
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
            edge += self.brand.width if self.brand.is_right_to_left else 0
            top = middle - self.brand.height // 2
            draw_block(self.picture, self.brand, (edge, top), paint.text)

    def _draw_logo(self, content: bytes, box: tuple[int, int, int, int]) -> None:
        from PIL import Image as Pictures
        from PIL import ImageOps

        with Pictures.open(io.BytesIO(content)) as file:
            logo = file.convert("RGBA")
        space = 0
        if self.paint.is_dark and logo.getchannel("A").getextrema() != (255, 255):
            # It may be made for white pages.
            space = 6
            draw_box(self.picture, box, 10, "#FFFFFF")
        room = (box[2] - box[0] - 2 * space, box[3] - box[1] - 2 * space)
        logo = ImageOps.contain(logo, room, Pictures.Resampling.LANCZOS)
        at = ((box[0] + box[2] - logo.width) // 2, (box[1] + box[3] - logo.height) // 2)
        self.picture.paste(logo, at, logo)

    def _draw_middle(
        self, text: str, box: tuple[int, int, int, int], letters: int, colour: str
    ) -> None:
        """Draw a letter or two in the middle of a box."""
        found = Text.read(text, self.paint.family, "text")
        block = found.shorten(letters, box[2] - box[0], found.line_height * letters)
        x = (box[0] + box[2] - block.width) // 2
        x += block.width if block.is_right_to_left else 0
        draw_block(self.picture, block, (x, (box[1] + box[3] - block.height) // 2), colour)

    def _line(self, text: str, letters: int, width: int) -> Block | None:
        if not text:
            return None
        found = Text.read(text, self.paint.family, "text")
        return found.shorten(letters, width, found.line_height * letters)

    def _draw_line(self, block: Block, x: int, top: int, colour: str) -> None:
        """Draw a line at the card's start edge, whichever direction its own letters have."""
        if block.is_right_to_left != self.is_mirrored:
            x += block.width if block.is_right_to_left else -block.width
        draw_block(self.picture, block, (x, top), colour)
