"""Projects and host names in the API."""

from typing import Any

from marshmallow import fields

from testimonials.core.http.answers import After
from testimonials.core.http.fields import (
    Choice,
    Color,
    Count,
    List,
    OneLine,
    StrictSchema,
    String,
    Switch,
    Text,
    Time,
    WholeSchema,
)
from testimonials.core.text import WEBSITE_PATTERN
from testimonials.projects import defaults, widget_design
from testimonials.projects.brand import FONTS, TRADES, find_brand
from testimonials.projects.domains import LONGEST, STATES, describe_state


class ProjectsQuerySchema(StrictSchema):
    after = After()


class ProjectCreateSchema(StrictSchema):
    """The body of POST /v1/projects; every field may be left out."""

    businessName = OneLine(
        defaults.BUSINESS_NAME_LENGTH,
        description="Used for the slug if none is given, and in the samples.",
    )
    slug = OneLine(
        defaults.SLUG_LENGTH,
        blank=False,
        description="Converted to lower case with dashes; unique among all projects.",
    )
    website = OneLine(
        defaults.WEBSITE_LENGTH,
        description="An http(s) URL; `https://` is added if it has no scheme.",
        metadata={"pattern": WEBSITE_PATTERN},
    )
    headline = OneLine(defaults.HEADLINE_LENGTH, description="Headline on the collection page.")
    description = Text(
        defaults.DESCRIPTION_LENGTH, description="Sub-headline on the collection page."
    )
    skipDemoTestimonials = Switch(
        description="Don't add samples if this is the account's first project."
    )


class WidgetConfigUpdateSchema(StrictSchema):
    """The body of PATCH widget-config; only the fields that are sent change."""

    theme = Choice(*defaults.THEMES, description="Color scheme.")
    layout = Choice(*defaults.LAYOUTS, description="Card arrangement.")
    animation = Choice(
        *defaults.ANIMATIONS, description="Card scrolling; only with the carousel layout."
    )
    palette = Choice(*defaults.PALETTES, description="Accent color for card decorations.")
    cardStyle = Choice(*defaults.CARD_STYLES, description="Visual treatment per card.")
    initialCount = Count(
        *defaults.INITIAL_COUNT_RANGE, description="Testimonials shown before a load-more control."
    )
    showStars = Switch(description="Star rating on each card.")
    showDates = Switch(description="Submission date on each card.")
    showSource = Switch(description="Attribution on each card: company, linked handle.")
    showCtaButton = Switch(description="Call-to-action button below the widget.")


class WidgetConfigSchema(WholeSchema, WidgetConfigUpdateSchema):
    pass


class WidgetDesignSchema(WholeSchema, widget_design.WidgetDesignSchema):
    pass


class CollectFieldsUpdateSchema(StrictSchema):
    email = Switch()
    role = Switch()
    company = Switch()
    avatar = Switch()
    rating = Switch()


class PageConfigUpdateSchema(StrictSchema):
    """The body of PATCH page-config; only the fields that are sent change."""

    businessName = OneLine(defaults.BUSINESS_NAME_LENGTH)
    website = OneLine(defaults.WEBSITE_LENGTH, metadata={"pattern": WEBSITE_PATTERN})
    headline = OneLine(defaults.HEADLINE_LENGTH)
    description = Text(defaults.DESCRIPTION_LENGTH)
    thankYouMessage = Text(defaults.THANK_YOU_LENGTH)
    theme = Choice(*defaults.THEMES)
    buttonColor = Color()
    buttonTextColor = Color()
    showConfetti = Switch()
    collectFields = fields.Nested(CollectFieldsUpdateSchema)


class CollectFieldsSchema(WholeSchema):
    name = fields.Boolean()
    email = fields.Boolean()
    role = fields.Boolean()
    company = fields.Boolean()
    avatar = fields.Boolean()
    rating = fields.Boolean()


class PublicPageConfigSchema(WholeSchema):
    slug = String()
    website = String()
    headline = String()
    description = String()
    thankYouMessage = String()
    theme = String()
    buttonColor = String()
    buttonTextColor = String()
    logo = String(allow_none=True)
    showConfetti = fields.Boolean()
    collectFields = fields.Nested(CollectFieldsSchema)


class BrandSchema(WholeSchema):
    """The brand in effect: what was set, else read on the website, else the trade's default."""

    name = String()
    website = String()
    logo = String(attribute="logo_url", allow_none=True)
    color = String(metadata={"pattern": "^#[0-9A-F]{6}$"})
    font = Choice(*FONTS)
    trade = Choice(*TRADES)


class BrandSettingsSchema(WholeSchema):
    """The fields of the brand that were set, the others null, and the brand in effect."""

    color = String(allow_none=True)
    font = String(allow_none=True)
    trade = String(allow_none=True)
    brand = fields.Nested(BrandSchema)


class PageConfigSchema(PublicPageConfigSchema):
    """All settings of a collection page, with the name of the business."""

    businessName = String()
    brand = fields.Nested(BrandSchema)


class ProjectSchema(WholeSchema):
    """The canonical project shape (spec, "Project")."""

    _id = String(attribute="id")
    userId = String(attribute="account_id")
    status = Choice("active", "inactive")
    publicPageConfig = fields.Nested(PublicPageConfigSchema, attribute="public_page_config")
    widgetConfig = fields.Nested(WidgetConfigSchema, attribute="whole_widget_config")
    widgetDesign = fields.Nested(WidgetDesignSchema, attribute="whole_widget_design")
    brand = fields.Nested(BrandSchema)
    createdAt = Time(attribute="created_at")
    updatedAt = Time(attribute="updated_at")

    def get_attribute(self, obj: Any, attr: str, default: Any) -> Any:
        return find_brand(obj) if attr == "brand" else super().get_attribute(obj, attr, default)


class DomainUpdateSchema(StrictSchema):
    host = OneLine(LONGEST, required=True, description="Such as `reviews.example.com`.")


class DomainRecordSchema(WholeSchema):
    type = String()
    name = String()
    value = String()


class DomainSchema(WholeSchema):
    """A project's own host name, its DNS records, and what the last look-up found."""

    host = String()
    state = fields.Function(
        describe_state,
        metadata={
            "type": "string",
            "enum": list(STATES),
            "description": "`waiting` for the TXT record, `verified` but not answering yet, or "
            "`serving`: links to the public pages use it.",
        },
    )
    records = List(
        fields.Nested(DomainRecordSchema),
        description="The TXT record proves ownership; the CNAME leads here.",
    )
    points_to = List(
        String(),
        data_key="pointsTo",
        description="Names and addresses that the last look-up found.",
    )
    problem = String(description="Why it doesn’t work yet; empty if it does.")
    verified_at = Time(data_key="verifiedAt", allow_none=True)
    serving_since = Time(data_key="servingSince", allow_none=True)
    checked_at = Time(data_key="checkedAt", allow_none=True)
    next_check_at = Time(data_key="nextCheckAt")
    created_at = Time(data_key="createdAt")
