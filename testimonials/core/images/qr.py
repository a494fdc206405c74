"""QR codes of a link, to show in a page and to print."""

import io
from typing import Any

# Four white modules on each side, which many readers need.
QUIET_ZONE = 4
DARK, LIGHT = "#000000", "#FFFFFF"
# Of an SVG, and for print: at least 1,000 pixels wide, whatever the link.
SCALES = {"svg": 10, "png": 25}


def make_qr_code(link: str) -> Any:
    """Return a code that is still readable with 15% of it dirty or torn (error level M)."""
    # Few requests need it.
    from segno import make_qr

    return make_qr(link, error="m", boost_error=False)


def draw_inline(link: str) -> str:
    """Return the code as an `svg` element that fills its container."""
    look = {"border": QUIET_ZONE, "dark": DARK, "light": LIGHT, "svgclass": "qr"}
    return str(make_qr_code(link).svg_inline(**look, omitsize=True, lineclass=None))


def draw_file(link: str, kind: str) -> bytes:
    """Return the code as a file, "svg" or "png"."""
    file = io.BytesIO()
    code = make_qr_code(link)
    code.save(file, kind=kind, scale=SCALES[kind], border=QUIET_ZONE, dark=DARK, light=LIGHT)
    return file.getvalue()
