"""The widget's settings as the editor's form has them, and back.

A person chooses a layout, stars and dates by one control each, where the settings have two or three
fields. Everything else has its name in the settings.
"""

from collections.abc import Set
from typing import Any

from testimonials.projects.defaults import WIDGET_CONFIG
from testimonials.projects.widget_design import DATE_STYLES, DEFAULTS, STAR_COLOURS
from testimonials.widget.drafts import Look, Settings, apply_look

Values = dict[str, Any]

LAYOUTS = ("masonry", "carousel", "marquee", "list", "spotlight")
MARQUEES = ("two", "one", "vertical")
STARS = (*STAR_COLOURS, "off")
DATES = (*DATE_STYLES, "off")
CTA_FIELDS = {"ctaLabel": "label", "ctaUrl": "url"}
LABELS = {"labelShowMore": "showMore", "labelReadMore": "readMore", "labelShowLess": "showLess"}
CONFIG = ("theme", "palette", "cardStyle", "initialCount", "showSource", "showCtaButton")
DESIGN = (
    "font", "density", "cardWidth", "featured", "showHeader", "showHighlights", "order", "tags",
    "minLength", "minRating", "onlyChosen", "photoSize", "radius", "shape",
)  # fmt: skip
# The control of each setting that has another name in the form.
_CONTROLS = {
    "animation": ("layout", "marquee"),
    "layout": ("layout",),
    "marqueeRows": ("marquee",),
    "starColor": ("stars",),
    "showStars": ("stars",),
    "dateStyle": ("dates",),
    "showDates": ("dates",),
    "labels": tuple(LABELS),
}


def to_form(settings: Settings) -> Values:
    config, design, cta = settings["config"], settings["design"], settings["cta"]
    is_marquee = config["layout"] == "carousel" and config["animation"] != "none"
    rows = "two" if design["marqueeRows"] == 2 else "one"
    return {
        "layout": design["layout"] or ("marquee" if is_marquee else config["layout"]),
        "marquee": "vertical" if config["animation"] == "vertical" else rows,
        "stars": design["starColor"] if config["showStars"] else "off",
        "dates": design["dateStyle"] if config["showDates"] else "off",
        "brandColor": design["brandColor"] or "",
        **{name: config[name] for name in CONFIG},
        **{name: design[name] for name in DESIGN},
        # Empty means the brand's.
        "palette": config["palette"] or "",
        "font": design["font"] or "",
        **{field: design["labels"].get(name, "") for field, name in LABELS.items()},
        **{field: cta.get(name, "") for field, name in CTA_FIELDS.items()},
    }


def to_settings(values: Values, changed: Set[str]) -> Settings:
    """Return the settings of the controls that changed; `values` are those of all controls."""
    config = {name: values[name] for name in CONFIG if name in changed}
    design = {name: values[name] for name in DESIGN if name in changed}
    if "palette" in changed:
        config["palette"] = values["palette"] or None
    if "font" in changed:
        design["font"] = values["font"] or None
    if "brandColor" in changed:
        design["brandColor"] = values["brandColor"] or None
    if changed & {"layout", "marquee"}:
        _place(values["layout"], values["marquee"], config, design)
    for control, switch, style in (
        ("stars", "showStars", "starColor"),
        ("dates", "showDates", "dateStyle"),
    ):
        if control in changed:
            config[switch] = values[control] != "off"
            design |= {style: values[control]} if config[switch] else {}
    if changed & LABELS.keys():
        words = {name: values[field] for field, name in LABELS.items()}
        design["labels"] = {name: text for name, text in words.items() if text}
    settings = {"config": config, "design": design}
    if changed & CTA_FIELDS.keys():
        settings["cta"] = {name: values[field] for field, name in CTA_FIELDS.items()}
    return settings


def apply_edit(settings: Settings, changes: Values) -> Settings:
    """Return the settings with the changes of an editor's form: first a look, then the others."""
    config, design, cta = settings["config"], settings["design"], settings["cta"]
    if changes.get("look"):
        config, design = apply_look(changes["look"], config, design)
    if "palette" in changes and "brandColor" not in changes:
        # A palette is a colour with a name, and takes the place of one's own.
        changes = changes | {"brandColor": ""}
    before = to_form({"config": config, "design": design, "cta": cta})
    changed = to_settings(before | changes, changes.keys())
    return {
        "config": config | changed["config"],
        "design": design | changed["design"],
        "cta": changed.get("cta", cta),
    }


def describe_look(look: Look) -> Values:
    """Return the values of the controls that a look sets."""
    touched = {
        control for name in (*look.config, *look.design) for control in _CONTROLS.get(name, (name,))
    }
    if "layout" not in look.config:
        touched -= {"layout", "marquee"}
    config, design = WIDGET_CONFIG | look.config, DEFAULTS | look.design
    values = to_form({"config": config, "design": design, "cta": {}})
    return {name: value for name, value in values.items() if name in touched}


def _place(layout: str, marquee: str, config: Values, design: Values) -> None:
    if layout == "spotlight":
        design["layout"] = layout
        return
    design["layout"] = ""
    config["layout"] = "carousel" if layout == "marquee" else layout
    if layout == "carousel":
        config["animation"] = "none"
    if layout == "marquee":
        config["animation"] = "vertical" if marquee == "vertical" else "horizontal"
        design |= {} if marquee == "vertical" else {"marqueeRows": 2 if marquee == "two" else 1}
