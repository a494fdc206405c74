"""Shapes of PUT /v1/setup."""

from marshmallow import Schema, fields

from testimonials.collection.changes import FormChangeSchema
from testimonials.collection.forms import MAX_FORMS
from testimonials.core.http.fields import (
    Choice,
    List,
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
    """A form, which `name` says; one that isn't there yet needs a title."""

    class Meta(StrictSchema.Meta):
        exclude = ("newName", "translations", "isOpen", "prompts")


class SetupTestimonialSchema(TestimonialAddSchema):
    """A testimonial under an id of the caller's own."""

    externalId = ExternalId(required=True, description="Your own id of it; each is stored once.")


class SetupSchema(StrictSchema):
    """The body of PUT /v1/setup: what should be so. What is left out stays as it is."""

    externalId = OneLine(
        EXTERNAL_ID_LENGTH,
        blank=False,
        required=True,
        description="Your own key of the project. The first call makes it, later ones change it.",
    )
    projectId = OneLine(
        24,
        blank=False,
        metadata={"pattern": "^[0-9a-f]{24}$"},
        description="The `_id` of a project that is there already, to give it your key.",
    )
    project = make_part(schemas.ProjectCreateSchema)
    brand = make_part(BrandUpdateSchema)
    page = make_part(SetupPageSchema)
    pageDesign = make_part(SetupDesignSchema)
    forms = make_parts(
        fields.Nested(SetupFormSchema),
        MAX_FORMS,
        metadata={"description": "Those that are not there yet are added; none is removed."},
    )
    widget = make_part(schemas.WidgetConfigUpdateSchema)
    design = make_part(DesignUpdateSchema)
    testimonials = make_parts(
        fields.Nested(SetupTestimonialSchema),
        MAX_TESTIMONIALS,
        metadata={"description": "Those that are not there yet are added; none is removed."},
    )
    removeDemo = Switch(description="true: remove the samples.")
    reason = Text(REASON_LENGTH, description="Why, for the owner who decides about the proposals.")


class SetupStepSchema(Schema):
    """One thing that was asked for, and what became of it."""

    section = Choice(
        *("project", "brand", "page", "pageDesign", "forms", "widget", "design", "testimonials"),
        "samples",
        required=True,
    )
    says = String(required=True, description="The same in words.")
    fields_ = List(
        String(),
        data_key="fields",
        attribute="fields",
        description="Names of fields, where only some are concerned.",
    )
    externalId = String(description="Of a testimonial.")
    testimonialId = String(description="Of a testimonial.")
    proposalId = String(description="What became of it: GET .../proposals/:proposal_id.")


class SetupLinksSchema(WholeSchema):
    """Addresses to tell the owner."""

    collectionPage = String(description="Customers write here.")
    wall = String(description="All testimonials, in public.")
    widgetPage = String(description="The widget by itself.")
    dashboard = String(description="For the owner.")
    proposals = String(description="For the owner.")


class ClaimStateSchema(WholeSchema):
    """Whether a person has claimed the account."""

    isClaimed = fields.Boolean()
    expiresAt = Time(allow_none=True, description="Unclaimed until then, the account is removed.")


class SetupResultSchema(WholeSchema):
    """What became of everything that was asked for."""

    project = fields.Nested(schemas.ProjectSchema)
    changed = List(fields.Nested(SetupStepSchema))
    already = List(fields.Nested(SetupStepSchema))
    proposed = List(fields.Nested(SetupStepSchema))
    refused = List(fields.Nested(SetupStepSchema))
    snippet = fields.Nested(EmbedSnippetSchema)
    links = fields.Nested(SetupLinksSchema)
    claim = fields.Nested(ClaimStateSchema)
