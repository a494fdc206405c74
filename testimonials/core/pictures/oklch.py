"""Colours by lightness, chroma and hue as people see them (OKLCH, CSS Color 4)."""

import math

Channels = tuple[float, float, float]

# What rounding of a channel hides.
_EDGE = 0.0005
_CHROMA_STEP = 0.002


def from_hex(colour: str) -> Channels:
    """Return lightness (0 to 1), chroma and hue (degrees) of `#RRGGBB`."""
    red, green, blue = (_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    medium = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    a = 1.9779984951 * long - 2.428592205 * medium + 0.4505937099 * short
    b = 0.0259040371 * long + 0.7827717662 * medium - 0.808675766 * short
    lightness = 0.2104542553 * long + 0.793617785 * medium - 0.0040720468 * short
    return lightness, math.hypot(a, b), math.degrees(math.atan2(b, a)) % 360


def to_hex(lightness: float, chroma: float, hue: float) -> str:
    """Return the colour as `#RRGGBB`, with as much of its chroma as a screen can show."""
    while True:
        channels = _to_linear(lightness, chroma, hue)
        if chroma <= 0 or all(-_EDGE <= each <= 1 + _EDGE for each in channels):
            break
        chroma = max(0.0, chroma - _CHROMA_STEP)
    # Halves are rounded up, as browsers do.
    return "#" + "".join(f"{int(_shown(each) * 255 + 0.5):02X}" for each in channels)


def _to_linear(lightness: float, chroma: float, hue: float) -> Channels:
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short,
    )


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def _shown(linear: float) -> float:
    linear = min(1.0, max(0.0, linear))
    return linear * 12.92 if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055
