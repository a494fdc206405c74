"""Which colors are read on which."""

from testimonials.core.images.colors import GRAPHICS, TEXT

# What each colour stands on, and the least contrast between the two.
PAIRS = {
    "text": (("card", "soft", "tint", "mark"), TEXT),
    "muted": (("card", "soft", "tint"), TEXT),
    "accent": (("card", "soft", "tint"), TEXT),
    "on": (("solid", "solidmark"), TEXT),
    "fore0": (("back0",), TEXT),
    "fore1": (("back1",), TEXT),
    "fore2": (("back2",), TEXT),
    "star": (("card", "soft"), GRAPHICS),
    "control": (("card", "soft"), GRAPHICS),
}
