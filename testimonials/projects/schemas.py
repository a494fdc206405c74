"""Shapes of requests and answers about projects."""

from marshmallow import Schema, fields

from testimonials.core.fields import Choice, Count, StrictSchema, Switch, Text, Time
from testimonials.projects import defaults


class ProjectCreateSchema(StrictSchema):
    """The body of POST /v1/projects; every field may be left out."""

    businessName = Text(  # noqa: N815
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
    skipDemoTestimonials = Switch(  # noqa: N815
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
    cardStyle = Choice(*defaults.CARD_STYLES, description="Visual treatment per card.")  # noqa: N815
    initialCount = Count(  # noqa: N815
        *defaults.INITIAL_COUNT_RANGE,
        description="Testimonials shown before a load-more control.",
    )
    showStars = Switch(description="Star rating on each card.")  # noqa: N815
    showDates = Switch(description="Submission date on each card.")  # noqa: N815
    showSource = Switch(description="Attribution on each card.")  # noqa: N815
    showCtaButton = Switch(  # noqa: N815
        description="Call-to-action button below the widget."
    )


class WidgetConfigSchema(WidgetConfigUpdateSchema):
    """A widget's settings as the API shows them: all of them."""


class CollectFieldsSchema(Schema):
    """Which inputs the collection page asks for."""

    name = fields.Boolean()
    email = fields.Boolean()
    role = fields.Boolean()
    company = fields.Boolean()
    avatar = fields.Boolean()
    rating = fields.Boolean()


class PublicPageConfigSchema(Schema):
    """The collection page's settings as the API shows them."""

    slug = fields.String()
    website = fields.String()
    headline = fields.String()
    description = fields.String()
    thankYouMessage = fields.String()  # noqa: N815
    theme = fields.String()
    buttonColor = fields.String()  # noqa: N815
    buttonTextColor = fields.String()  # noqa: N815
    logo = fields.String(allow_none=True)
    showConfetti = fields.Boolean()  # noqa: N815
    collectFields = fields.Nested(CollectFieldsSchema)  # noqa: N815


class ProjectSchema(Schema):
    """The canonical project shape (spec, "Project")."""

    _id = fields.String(attribute="id", required=True)
    userId = fields.String(attribute="account_id", required=True)  # noqa: N815
    status = fields.String(required=True, metadata={"enum": ["active", "inactive"]})
    publicPageConfig = fields.Nested(  # noqa: N815
        PublicPageConfigSchema, attribute="public_page_config", required=True
    )
    widgetConfig = fields.Nested(  # noqa: N815
        WidgetConfigSchema, attribute="widget_config", required=True
    )
    createdAt = Time(attribute="created_at", required=True)  # noqa: N815
    updatedAt = Time(attribute="updated_at", required=True)  # noqa: N815
