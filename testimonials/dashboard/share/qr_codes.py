"""QR codes of a link, to show in a page and to print."""

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from segno import QRCode

# Four modules of white around it, without which many readers find nothing.
QUIET_ZONE = 4
DARK, LIGHT = "#000000", "#FFFFFF"
# A printed code is looked at closely: at least 1,000 pixels wide for every link that a slug makes.
PNG_SCALE = 25


def make_qr_code(link: str) -> "QRCode":
    """Return the code of `link`, of error level M: readable with 15 % of it dirty or torn."""
    # Only this page needs it, and few requests are for this page.
    from segno import make_qr

    return make_qr(link, error="m", boost_error=False)


def draw_inline(link: str) -> str:
    """Return the code as an `svg` element, without a size, for a page that gives it one."""
    return make_qr_code(link).svg_inline(
        border=QUIET_ZONE, dark=DARK, light=LIGHT, omitsize=True, svgclass="qr", lineclass=None
    )


def draw_svg(link: str) -> bytes:
    return _save(link, "svg", scale=10)


def draw_png(link: str) -> bytes:
    return _save(link, "png", scale=PNG_SCALE)


def _save(link: str, kind: str, scale: int) -> bytes:
    file = io.BytesIO()
    code = make_qr_code(link)
    code.save(file, kind=kind, scale=scale, border=QUIET_ZONE, dark=DARK, light=LIGHT)
    return file.getvalue()
