"""Whether text can be read on a colour, and which colour near it would do (WCAG 2.2, 1.4.3)."""

ENOUGH = 4.5
BLACK, WHITE = (0, 0, 0), (255, 255, 255)
STEPS = 100

Channels = tuple[int, int, int]


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours written as `#RRGGBB`: 1 for equal ones, at most 21."""
    lights = sorted((_luminance(_read(one)), _luminance(_read(other))))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def find_text(ground: str, text: str) -> str:
    """Return `text` if it can be read on `ground`; otherwise black or white, whichever can."""
    if contrast(ground, text) >= ENOUGH:
        return text
    return max("#000000", "#FFFFFF", key=lambda each: contrast(ground, each))


def find_readable(ground: str, text: str) -> str:
    """Return `ground`, or the nearest colour on which `text` can be read.

    It is mixed with black or with white, whichever needs less.
    """
    if contrast(ground, text) >= ENOUGH:
        return ground
    start = _read(ground)
    for step in range(1, STEPS + 1):
        for end in (BLACK, WHITE):
            mixed = _write(start, end, step / STEPS)
            if contrast(mixed, text) >= ENOUGH:
                return mixed
    raise AssertionError("Black or white stands out from every colour.")


def _read(colour: str) -> Channels:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue


def _write(start: Channels, end: Channels, share: float) -> str:
    mixed = (round(a + (b - a) * share) for a, b in zip(start, end, strict=True))
    return "#" + "".join(f"{channel:02X}" for channel in mixed)


def _luminance(channels: Channels) -> float:
    red, green, blue = (
        share / 12.92 if (share := channel / 255) <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
        for channel in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
