"""The keys of `Project.dashboard_config`, and their values.

Other keys are refused, since a project's archive is imported by this schema: a key that is missing
here would be lost.
"""

from collections.abc import Mapping
from typing import Any

from marshmallow import fields

from testimonials.core.web.fields import Choice, StrictSchema, Switch, Text, WebUrl

HAS_LOOKED, HAS_SHARED = "hasLooked", "hasShared"
IS_HIDDEN, KEEPS_SAMPLES = "hidesChecklist", "keepsSamples"
SHARE_MESSAGE, CTA, RATED = "shareMessage", "cta", "rated"

MESSAGE_LENGTH = 2_000
CTA_LABEL_LENGTH = 60
URL_LENGTH = 500
RATED_NAME_LENGTH = 120
# Search engines may show ratings of these, but never of a business that collects its own.
RATED_KINDS = ("Product", "SoftwareApplication", "Course")


class CtaSchema(StrictSchema):
    """The button below the widget; empty values mean the default one."""

    label = Text(CTA_LABEL_LENGTH, one_line=True, blank=True)
    url = WebUrl(URL_LENGTH)


class RatedSchema(StrictSchema):
    """What the ratings are about, for structured data."""

    kind = Choice(*RATED_KINDS, required=True)
    name = Text(RATED_NAME_LENGTH, one_line=True, blank=False, required=True)


class DashboardConfigSchema(StrictSchema):
    """All keys; one that is missing has never been set."""

    hasLooked = Switch()
    hasShared = Switch()
    hidesChecklist = Switch()
    keepsSamples = Switch()
    shareMessage = Text(MESSAGE_LENGTH)
    cta = fields.Nested(CtaSchema)
    rated = fields.Nested(RatedSchema)


KEYS = frozenset(DashboardConfigSchema().fields)


def require_known(config: Mapping[str, Any], before: Mapping[str, Any] | None) -> None:
    """Raise `ValueError` for an unknown key, unless it was stored already (by a newer version)."""
    if unknown := sorted(config.keys() - KEYS - (before or {}).keys()):
        raise ValueError(f"dashboard_config has no {', '.join(unknown)}")
