"""Projects and host names in the API."""

from typing import Any

from marshmallow import Schema, fields

from testimonials.core.http.answers import After
from testimonials.core.http.fields import Choice, Colour, Count, StrictSchema, Switch, Text, Time
from testimonials.core.text import WEBSITE_PATTERN
from testimonials.projects import defaults, widget_design
from testimonials.projects.brand import FONTS, TRADES, find_brand
from testimonials.projects.domains import LONGEST, STATES, describe_state


class ProjectsQuerySchema(StrictSchema):
    after = After()


class ProjectCreateSchema(StrictSchema):
    """The body of POST /v1/projects; every field may be left out."""

    businessName = Text(
        defaults.BUSINESS_NAME_LENGTH,
        one_line=True,
        description="Names the slug when none is given, and the samples.",
    )
    slug = Text(
        defaults.SLUG_LENGTH,
        one_line=True,
        blank=False,
        description="Becomes lower case with dashes; unique among all projects.",
    )
    website = Text(
        defaults.WEBSITE_LENGTH,
        one_line=True,
        description="http(s); `https://` is put before it when no scheme is given.",
        metadata={"pattern": WEBSITE_PATTERN},
    )
    headline = Text(
        defaults.HEADLINE_LENGTH,
        one_line=True,
        description="Headline on the collection page.",
    )
    description = Text(
        defaults.DESCRIPTION_LENGTH,
        description="Sub-headline on the collection page.",
    )
    skipDemoTestimonials = Switch(
        description="true: no samples, should this be the account's first project."
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
        *defaults.INITIAL_COUNT_RANGE,
        description="Testimonials shown before a load-more control.",
    )
    showStars = Switch(description="Star rating on each card.")
    showDates = Switch(description="Submission date on each card.")
    showSource = Switch(description="Attribution on each card: company, linked handle.")
    showCtaButton = Switch(description="Call-to-action button below the widget.")


class WidgetConfigSchema(WidgetConfigUpdateSchema):
    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        field_obj.required = True


class WidgetDesignSchema(widget_design.WidgetDesignSchema):
    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        field_obj.required = True


class CollectFieldsUpdateSchema(StrictSchema):
    email = Switch()
    role = Switch()
    company = Switch()
    avatar = Switch()
    rating = Switch()


class PageConfigUpdateSchema(StrictSchema):
    """Settings of a collection page, as the dashboard changes them."""

    businessName = Text(defaults.BUSINESS_NAME_LENGTH, one_line=True)
    website = Text(defaults.WEBSITE_LENGTH, one_line=True, metadata={"pattern": WEBSITE_PATTERN})
    headline = Text(defaults.HEADLINE_LENGTH, one_line=True)
    description = Text(defaults.DESCRIPTION_LENGTH)
    thankYouMessage = Text(defaults.THANK_YOU_LENGTH)
    theme = Choice(*defaults.THEMES)
    buttonColor = Colour()
    buttonTextColor = Colour()
    showConfetti = Switch()
    collectFields = fields.Nested(CollectFieldsUpdateSchema)


class CollectFieldsSchema(Schema):
    name = fields.Boolean(required=True)
    email = fields.Boolean(required=True)
    role = fields.Boolean(required=True)
    company = fields.Boolean(required=True)
    avatar = fields.Boolean(required=True)
    rating = fields.Boolean(required=True)


class PublicPageConfigSchema(Schema):
    slug = fields.String(required=True)
    website = fields.String(required=True)
    headline = fields.String(required=True)
    description = fields.String(required=True)
    thankYouMessage = fields.String(required=True)
    theme = fields.String(required=True)
    buttonColor = fields.String(required=True)
    buttonTextColor = fields.String(required=True)
    logo = fields.String(required=True, allow_none=True)
    showConfetti = fields.Boolean(required=True)
    collectFields = fields.Nested(CollectFieldsSchema, required=True)


class BrandSchema(Schema):
    """The brand as it is in effect: what was set, else read on the website, else the trade's."""

    name = fields.String(required=True)
    website = fields.String(required=True)
    logo = fields.String(attribute="logo_url", required=True, allow_none=True)
    color = fields.String(required=True, metadata={"pattern": "^#[0-9A-F]{6}$"})
    font = Choice(*FONTS, required=True)
    trade = Choice(*TRADES, required=True)


class BrandSettingsSchema(Schema):
    """What is set of the brand, null for what isn't; and what is in effect, beside."""

    color = fields.String(required=True, allow_none=True)
    font = fields.String(required=True, allow_none=True)
    trade = fields.String(required=True, allow_none=True)
    brand = fields.Nested(BrandSchema, required=True)


class PageConfigSchema(PublicPageConfigSchema):
    """All settings of a collection page, with the name of the business."""

    businessName = fields.String(required=True)
    brand = fields.Nested(BrandSchema, required=True)


class ProjectSchema(Schema):
    """The canonical project shape (spec, "Project")."""

    _id = fields.String(attribute="id", required=True)
    userId = fields.String(attribute="account_id", required=True)
    status = Choice("active", "inactive", required=True)
    publicPageConfig = fields.Nested(
        PublicPageConfigSchema, attribute="public_page_config", required=True
    )
    widgetConfig = fields.Nested(WidgetConfigSchema, attribute="whole_widget_config", required=True)
    widgetDesign = fields.Nested(WidgetDesignSchema, attribute="whole_widget_design", required=True)
    brand = fields.Nested(BrandSchema, required=True)
    createdAt = Time(attribute="created_at", required=True)
    updatedAt = Time(attribute="updated_at", required=True)

    def get_attribute(self, obj: Any, attr: str, default: Any) -> Any:
        return find_brand(obj) if attr == "brand" else super().get_attribute(obj, attr, default)


class DomainUpdateSchema(StrictSchema):
    host = Text(
        LONGEST,
        one_line=True,
        required=True,
        metadata={"description": "Such as `reviews.example.com`."},
    )


class DomainRecordSchema(Schema):
    type = fields.String(required=True)
    name = fields.String(required=True)
    value = fields.String(required=True)


class DomainSchema(Schema):
    """A project's own host name, what the DNS needs, and what was found there last."""

    host = fields.String(required=True)
    state = fields.Function(
        describe_state,
        required=True,
        metadata={
            "type": "string",
            "enum": list(STATES),
            "description": "`waiting` for the TXT record, `verified` but not answering yet, or "
            "`serving`: links to the public pages use it.",
        },
    )
    records = fields.List(
        fields.Nested(DomainRecordSchema),
        required=True,
        metadata={"description": "The TXT record says whose it is, the CNAME leads here."},
    )
    points_to = fields.List(
        fields.String(),
        data_key="pointsTo",
        required=True,
        metadata={"description": "Where it led to when it was looked up last."},
    )
    problem = fields.String(
        required=True, metadata={"description": "Why it doesn’t answer; empty if it does."}
    )
    verified_at = Time(data_key="verifiedAt", required=True, allow_none=True)
    serving_since = Time(data_key="servingSince", required=True, allow_none=True)
    checked_at = Time(data_key="checkedAt", required=True, allow_none=True)
    next_check_at = Time(data_key="nextCheckAt", required=True)
    created_at = Time(data_key="createdAt", required=True)
