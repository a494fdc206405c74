"""Whether text can be read on a colour, and which text can (WCAG 2.2, 1.4.3)."""

ENOUGH = 4.5
# Nearly black looks better; on a few greys only black can be read.
TEXTS = ("#FFFFFF", "#18181B", "#000000")

Channels = tuple[int, int, int]


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours written as `#RRGGBB`: 1 for equal ones, at most 21."""
    lights = sorted((_luminance(_read(one)), _luminance(_read(other))))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def find_text(ground: str, text: str = TEXTS[0]) -> str:
    """Return `text`, or white or black if it can't be read on `ground`.

    So a brand's colour stays as it is: coral with dark text rather than a brown with white.
    """
    return next(each for each in (text, *TEXTS) if contrast(ground, each) >= ENOUGH)


def _read(colour: str) -> Channels:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue


def _luminance(channels: Channels) -> float:
    red, green, blue = (
        share / 12.92 if (share := channel / 255) <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
        for channel in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
