"""The schemas of setups and summaries."""

from marshmallow import Schema, fields

from testimonials.collection.changes import FormChangeSchema
from testimonials.collection.forms import MAX_FORMS
from testimonials.core.http.fields import (
    Choice,
    List,
    Number,
    OneLine,
    StrictSchema,
    String,
    Switch,
    Text,
    Time,
    WholeSchema,
    make_part,
    make_parts,
)
from testimonials.core.http.resource import REASON_LENGTH
from testimonials.projects import schemas
from testimonials.projects.brand import BrandUpdateSchema
from testimonials.projects.page_design import PAGE_LANGUAGE, PageDesignSchema
from testimonials.testimonials.fields import EXTERNAL_ID_LENGTH, ExternalId
from testimonials.testimonials.schemas import TestimonialAddSchema
from testimonials.widget.api import DesignUpdateSchema, EmbedSnippetSchema

MAX_TESTIMONIALS = 100
MAX_BYTES = 512 * 1024


class SetupPageSchema(schemas.PageConfigUpdateSchema):
    """How the collection page looks, and its language; its words are those of the project."""

    language = PAGE_LANGUAGE

    class Meta(StrictSchema.Meta):
        exclude = ("businessName", "website", "headline", "description")


class SetupDesignSchema(PageDesignSchema):
    """What the collection page asks and offers."""

    class Meta(StrictSchema.Meta):
        exclude = ("coverFocus", "language", "needsCaptions", "steps", "translations")


class SetupFormSchema(FormChangeSchema):
    """A form, found by its `name`; a new one needs a title."""

    class Meta(StrictSchema.Meta):
        exclude = ("newName", "translations", "isOpen", "prompts")


class SetupTestimonialSchema(TestimonialAddSchema):
    """A testimonial under an id of the caller's own."""

    externalId = ExternalId(required=True, description="Your own id for it; it is stored once.")


class SetupSchema(StrictSchema):
    """The body of PUT /v1/setup: the desired state. What is left out stays as it is."""

    externalId = OneLine(
        EXTERNAL_ID_LENGTH,
        blank=False,
        required=True,
        description="Your own id for the project. The first call creates it, later ones update it.",
    )
    projectId = OneLine(
        24,
        blank=False,
        metadata={"pattern": "^[0-9a-f]{24}$"},
        description="The `_id` of an existing project, to give it your `externalId`.",
    )
    project = make_part(schemas.ProjectCreateSchema)
    brand = make_part(BrandUpdateSchema)
    page = make_part(SetupPageSchema)
    pageDesign = make_part(SetupDesignSchema)
    forms = make_parts(
        fields.Nested(SetupFormSchema),
        MAX_FORMS,
        metadata={"description": "Missing ones are added; none are removed."},
    )
    widget = make_part(schemas.WidgetConfigUpdateSchema)
    design = make_part(DesignUpdateSchema)
    testimonials = make_parts(
        fields.Nested(SetupTestimonialSchema),
        MAX_TESTIMONIALS,
        metadata={"description": "Missing ones are added; none are removed."},
    )
    removeDemo = Switch(description="true: remove the samples.")
    reason = Text(
        REASON_LENGTH, description=("The reason, for the owner, who decides on the proposals.")
    )


class SetupStepSchema(Schema):
    """One requested change and its outcome."""

    section = Choice(
        *("project", "brand", "page", "pageDesign", "forms", "widget", "design", "testimonials"),
        "samples",
        required=True,
    )
    says = String(required=True, description="The outcome in words.")
    fields_ = List(
        String(),
        data_key="fields",
        attribute="fields",
        description="The affected fields, if not all of them are.",
    )
    externalId = String(description="The testimonial's.")
    testimonialId = String(description="The testimonial's.")
    proposalId = String(description="Its state is at GET .../proposals/:proposal_id.")


class SetupLinksSchema(WholeSchema):
    """URLs to give the owner."""

    collectionPage = String(description="Where customers write testimonials.")
    wall = String(description="The public page with all testimonials.")
    widgetPage = String(description="The widget on a page of its own.")
    dashboard = String(description="For the owner.")
    proposals = String(description="For the owner.")


class ClaimStateSchema(WholeSchema):
    """Whether a person has claimed the account."""

    isClaimed = fields.Boolean()
    expiresAt = Time(allow_none=True, description="When an unclaimed account is removed.")


class SetupResultSchema(WholeSchema):
    """The outcome of every requested change."""

    project = fields.Nested(schemas.ProjectSchema)
    changed = List(fields.Nested(SetupStepSchema))
    already = List(fields.Nested(SetupStepSchema))
    proposed = List(fields.Nested(SetupStepSchema))
    refused = List(fields.Nested(SetupStepSchema))
    snippet = fields.Nested(EmbedSnippetSchema)
    links = fields.Nested(SetupLinksSchema)
    claim = fields.Nested(ClaimStateSchema)


class TestimonialCountsSchema(WholeSchema):
    """How many testimonials are in each state; `rejected` includes withdrawn ones."""

    pending = Number()
    approved = Number()
    rejected = Number()
    spam = Number()
    trash = Number()
    samples = Number()


class WebsiteSchema(WholeSchema):
    """A website that shows the widget."""

    origin = String()
    seenAt = Time(attribute="seen_at")


class SummarySchema(WholeSchema):
    """The state of a project."""

    status = Choice("active", "inactive")
    testimonials = fields.Nested(TestimonialCountsSchema)
    averageRating = fields.Float(
        allow_none=True,
        metadata={
            "description": "The mean of all genuine ratings, shown or not; null if there are none."
        },
    )
    ratingCount = Number()
    proposalsWaiting = Number()
    requests = fields.Dict(
        keys=String(),
        values=Number(),
        metadata={"description": "Requests by email, by state."},
    )
    websites = List(
        fields.Nested(WebsiteSchema),
        description="Where the widget was seen within 90 days, latest first.",
    )
