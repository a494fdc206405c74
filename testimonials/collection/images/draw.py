"""Drawing with Pillow: shapes, and the looks and sizes of pictures."""

import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from testimonials.collection.images.typesetting import SANS, SERIF

if TYPE_CHECKING:
    from PIL import Image as Pictures
    from PIL import ImageDraw


# Pillow doesn't smooth edges, so each shape is drawn as a larger mask and then reduced.

FINER_SHAPES = 4
# A star in a 20-unit cell, with a round stroke of the same color.
_CELL, _STAR_GAP = 20, 2
_STAR_STROKE = 1.7
_STAR = tuple(
    (
        10 + (8.7, 4.35)[corner % 2] * math.sin(corner * math.pi / 5),
        10.5 - (8.7, 4.35)[corner % 2] * math.cos(corner * math.pi / 5),
    )
    for corner in range(10)
)
# The first half of the quote mark, in a box of 44 x 32; the second is shifted to the right.
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


def draw_stars(
    picture: "Pictures.Image", rating: float, at: tuple[int, int], size: int, full: str, empty: str,
    *, is_mirrored: bool,
) -> None:  # fmt: skip
    """Draw five stars from the start edge, filled as far as the rating."""
    width = round(size * (5 * _CELL + 4 * _STAR_GAP) / _CELL)

    def row(canvas: "ImageDraw.ImageDraw", scale: float) -> None:
        for number in range(5):
            left = number * (_CELL + _STAR_GAP)
            points = [((left + x) * scale, y * scale) for x, y in _STAR]
            canvas.polygon(points, 255)
            canvas.line([*points, *points[:2]], 255, round(_STAR_STROKE * scale), "curve")

    mask = make_mask((width, size), size / _CELL, row)
    whole, part = divmod(rating, 1)
    reach = round(size * (whole * (_CELL + _STAR_GAP) + part * _CELL) / _CELL)
    if is_mirrored:
        at, reach = (at[0] - width, at[1]), width - reach
    first, second = (empty, full) if is_mirrored else (full, empty)
    for color, left, right in ((first, 0, reach), (second, reach, width)):
        if right > left:
            part_of = mask.crop((left, 0, right, size))
            picture.paste(color, (at[0] + left, at[1]), part_of)


def draw_quote(picture: "Pictures.Image", at: tuple[int, int], width: int, color: str) -> None:
    def shape(canvas: "ImageDraw.ImageDraw", scale: float) -> None:
        for shift in (0, _QUOTE_STEP):
            points = [point for curve in _QUOTE for point in _bend(*curve)]
            canvas.polygon([((x + shift) * scale, y * scale) for x, y in points], 255)

    height = round(width * _QUOTE_BOX[1] / _QUOTE_BOX[0])
    mask = make_mask((width, height), width / _QUOTE_BOX[0], shape)
    picture.paste(color, at, mask)


def draw_box(picture: "Pictures.Image", box: Box, radius: int, color: str) -> None:
    mask = _rounded(box[2] - box[0], box[3] - box[1], radius)
    picture.paste(color, box[:2], mask)


def draw_shadow(picture: "Pictures.Image", box: Box, radius: int, color: str, size: int) -> None:
    """Draw the shadow of a box, blurred by `size`."""
    from PIL import Image as Pictures
    from PIL import ImageFilter

    # Drawn smaller and enlarged, since it is blurred anyway.
    factor = 8
    shadow = Pictures.new("L", (picture.width // factor, picture.height // factor))
    inner = (box[0] + size // 2, box[1] + size, box[2] - size // 2, box[3] + size // 2)
    if inner[2] > inner[0] and inner[3] > inner[1]:
        width, height = ((inner[at + 2] - inner[at]) // factor for at in (0, 1))
        mask = _rounded(width, height, radius // factor)
        shadow.paste(56, (inner[0] // factor, inner[1] // factor), mask)
    blurred = shadow.filter(ImageFilter.GaussianBlur(size / factor / 2)).resize(picture.size)
    picture.paste(color, (0, 0), blurred)


def draw_photo(picture: "Pictures.Image", content: bytes, at: tuple[int, int], size: int) -> None:
    from PIL import Image as Pictures
    from PIL import ImageOps

    with Pictures.open(io.BytesIO(content)) as file:
        photo = ImageOps.fit(file.convert("RGB"), (size, size), Pictures.Resampling.LANCZOS)
    picture.paste(photo, at, _rounded(size, size, size // 2))


def make_mask(size: tuple[int, int], scale: float, draw: Draw) -> "Pictures.Image":
    """Return a mask drawn by `draw` in units of `scale` pixels."""
    from PIL import Image as Pictures
    from PIL import ImageDraw

    large = Pictures.new("L", (size[0] * FINER_SHAPES, size[1] * FINER_SHAPES))
    draw(ImageDraw.Draw(large), scale * FINER_SHAPES)
    return large.reduce(FINER_SHAPES)


def mix(color: str, other: str, share: float) -> str:
    pairs = zip(*(bytes.fromhex(each[1:]) for each in (color, other)), strict=True)
    return "#" + bytes(round(a * share + b * (1 - share)) for a, b in pairs).hex()


def _rounded(width: int, height: int, radius: int) -> "Pictures.Image":
    def box(canvas: "ImageDraw.ImageDraw", scale: float) -> None:
        edges = (0, 0, width * scale - 1, height * scale - 1)
        canvas.rounded_rectangle(edges, radius * scale, 255)

    return make_mask((width, height), 1, box)


def _bend(*points: tuple[float, float]) -> list[tuple[float, float]]:
    """Return points on a cubic Bézier curve, or the two points of a line."""
    if len(points) == 2:
        return list(points)
    curve = []
    for step in range(13):
        t = step / 12
        weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
        x, y = (sum(w * p[axis] for w, p in zip(weights, points, strict=True)) for axis in (0, 1))
        curve.append((x, y))
    return curve


Colors = Mapping[str, str]


@dataclass(frozen=True)
class Size:
    """The measures of a picture, in pixels."""

    width: int
    height: int
    margin: int
    # Left free, since apps show buttons at the top and bottom of a story.
    top: int
    bottom: int
    # Font sizes for short, medium and long texts, and the smallest.
    words: tuple[int, int, int]
    least: int
    photo: int
    name: int
    role: int
    star: int
    logo: int
    quote: float
    # Whether the author is below the words rather than in the footer.
    is_tall: bool = False

    @property
    def is_wide(self) -> bool:
        return self.width > self.height


SIZES = {
    "landscape": Size(
        1200, 630, 72, 72, 64, (96, 62, 47), 30, photo=92, name=30, role=24, star=34, logo=44,
        quote=2.3,
    ),
    "square": Size(
        1080, 1080, 88, 88, 84, (108, 76, 56), 36, photo=116, name=36, role=28, star=42, logo=52,
        quote=5.2,
    ),
    "story": Size(
        1080, 1920, 96, 250, 340, (128, 96, 68), 42, photo=136, name=42, role=32, star=50, logo=60,
        quote=5.2, is_tall=True,
    ),
}  # fmt: skip
# The size for a collection page, which has no author.
PAGE = replace(SIZES["landscape"], role=36, logo=72)
LOOKS = ("paper", "solid", "night", "card")


@dataclass(frozen=True)
class Paint:
    """The colors and the font family of a look."""

    family: str
    ground: str
    text: str
    muted: str
    mark: str
    star: str
    empty: str
    quote: str
    tile: str
    on_tile: str
    # The initials of an author without a photo: background and text.
    back: str
    fore: str
    # Whether a logo needs a light background.
    is_dark: bool = False
    is_card: bool = False


def paint_look(look: str, light: Colors, dark: Colors, person: int) -> Paint:
    """Return a look in the brand's colors; `person` selects the color of initials."""
    on = dark if look == "night" else light
    people = (on[f"back{person}"], on[f"fore{person}"])
    if look == "solid":
        solid, white = light["solid"], light["on"]
        return Paint(
            SERIF, solid, white, white, light["solidmark"], white, mix(white, solid, 0.33),
            mix(white, solid, 0.14), white, solid, mix(white, solid, 0.9), solid, is_dark=True,
        )  # fmt: skip
    if look == "night":
        return Paint(
            SANS, on["card"], on["text"], on["muted"], on["mark"], on["star"], on["empty"],
            on["tint"], on["accent"], on["card"], *people, is_dark=True,
        )  # fmt: skip
    is_card = look == "card"
    return Paint(
        SANS if is_card else SERIF, on["soft"], on["text"], on["muted"], on["mark"],
        on["star"] if is_card else on["accent"], on["empty"], on["tint"], on["solid"], on["on"],
        *people, is_card=is_card,
    )  # fmt: skip


def make_ground(
    look: str, size: Size, paint: Paint, light: Colors, dark: Colors
) -> "Pictures.Image":
    """Return the background: plain, or with the look's gradient."""
    from PIL import Image as Pictures

    area = (size.width, size.height)
    picture = Pictures.new("RGB", area, light["tint"] if paint.is_card else paint.ground)
    if look == "night":
        # The tint fades from the top right corner; Pillow's gradient is 180 at its edges.
        reach = (round(size.width * 1.35), round(size.height * 1.35))
        glow = Pictures.radial_gradient("L").point(lambda value: max(0, 255 - value * 255 / 180))
        glow = glow.resize(reach, Pictures.Resampling.BICUBIC)
        picture.paste(dark["tint"], (size.width - reach[0] // 2, -reach[1] // 2), glow)
    elif paint.is_card:
        # At 150 degrees.
        across, down = 0.5, 0.866
        scale = 255 / (size.width * across + size.height * down)
        turn = (0, 0, 128, across * scale, down * scale, 0)
        slope = Pictures.linear_gradient("L").transform(
            area, Pictures.Transform.AFFINE, turn, Pictures.Resampling.BILINEAR
        )
        picture.paste(light["mark"], (0, 0), slope)
    return picture
