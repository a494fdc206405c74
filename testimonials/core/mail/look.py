"""How a mail looks: whose it is, and its colors in both themes."""

from dataclasses import dataclass

from testimonials.core.images.colors import Colours, derive_colours

# Fonts are those that the reader's machine has: by the style that a brand asks for.
PLAIN = "-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,'Noto Sans',Helvetica,Arial,sans-serif"
FONTS = {
    "classic": "Georgia,'Times New Roman','Noto Serif',serif",
    "rounded": "ui-rounded,'SF Pro Rounded','Arial Rounded MT Bold',Nunito,Quicksand," + PLAIN,
}
OWN_INK = {"solid": "#18181B", "on": "#FFFFFF"}
OWN_INK_DARK = {"solid": "#F4F4F5", "on": "#18181B"}


@dataclass(frozen=True)
class Look:
    """Whose mail it is: a business's, or with `is_own` the service's, which has our mark."""

    name: str
    logo_url: str | None
    font: str
    light: Colours
    dark: Colours
    is_own: bool = False


def brand_look(name: str, color: str, logo_url: str | None = None, font: str = "plain") -> Look:
    """Return the look of a business's mails, all from its one color, `#RRGGBB`."""
    derived = derive_colours(color)
    return Look(name, logo_url, FONTS.get(font, PLAIN), derived.light, derived.dark)


def own_look() -> Look:
    """Return the look of mails about links, security and the server."""
    ink = derive_colours(OWN_INK["solid"])
    light, dark = ink.light | OWN_INK, ink.dark | OWN_INK_DARK
    return Look("Testimonials", None, PLAIN, light, dark, is_own=True)
