"""The looks and sizes of a testimonial's picture."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from testimonials.collection.images.draw import mix
from testimonials.collection.images.fonts import SANS, SERIF

if TYPE_CHECKING:
    from PIL import Image as Pictures

Colours = Mapping[str, str]


@dataclass(frozen=True)
class Size:
    """All measures of a size, in pixels."""

    width: int
    height: int
    margin: int
    # Kept free above and below; apps lay their buttons over a story there.
    top: int
    bottom: int
    # Of words that are short, of middle length and long; and the smallest.
    words: tuple[int, int, int]
    least: int
    photo: int
    name: int
    role: int
    star: int
    logo: int
    quote: float
    # Whether the author stands below the words rather than in the foot.
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
LOOKS = ("paper", "solid", "night", "card")
SIZE_NAMES = tuple(SIZES)


@dataclass(frozen=True)
class Paint:
    """The colours of one look, and its letters."""

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
    # Of initials, for authors without a photo.
    back: str
    fore: str
    # Whether a logo needs a light plate behind it.
    is_dark: bool = False
    is_card: bool = False


def paint_look(look: str, light: Colours, dark: Colours, person: int) -> Paint:
    """Return a look in the brand's colours; `person` chooses between those of initials."""
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
    look: str, size: Size, paint: Paint, light: Colours, dark: Colours
) -> "Pictures.Image":
    """Return the empty picture: plain, or with the look's gradient."""
    from PIL import Image as Pictures

    area = (size.width, size.height)
    picture = Pictures.new("RGB", area, light["tint"] if paint.is_card else paint.ground)
    if look == "night":
        # From the tint in the top right corner to nothing. The gradient has 180 at its edges.
        reach = (round(size.width * 1.35), round(size.height * 1.35))
        glow = Pictures.radial_gradient("L").point(lambda value: max(0, 255 - value * 255 / 180))
        glow = glow.resize(reach, Pictures.Resampling.BICUBIC)
        picture.paste(dark["tint"], (size.width - reach[0] // 2, -reach[1] // 2), glow)
    elif paint.is_card:
        # At 150 degrees: half as steep to the right as it is downwards.
        across, down = 0.5, 0.866
        scale = 255 / (size.width * across + size.height * down)
        turn = (0, 0, 128, across * scale, down * scale, 0)
        slope = Pictures.linear_gradient("L").transform(
            area, Pictures.Transform.AFFINE, turn, Pictures.Resampling.BILINEAR
        )
        picture.paste(light["mark"], (0, 0), slope)
    return picture
