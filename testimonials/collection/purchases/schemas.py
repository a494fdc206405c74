"""Shapes of the API's links that prove a purchase."""

from marshmallow import Schema, fields

from testimonials.auth.addresses import Email
from testimonials.collection.requests.address_lists import REFERENCE_LENGTH
from testimonials.core.web.fields import Choice, Count, StrictSchema, Text, Time
from testimonials.core.web.languages import LANGUAGES
from testimonials.projects.configuration.defaults import SLUG_LENGTH
from testimonials.testimonials.fields import AuthorLine

MOST_DAYS = 365


class PurchaseLinkCreateSchema(StrictSchema):
    """A purchase, and how the link to write about it should be."""

    order = Text(
        REFERENCE_LENGTH,
        one_line=True,
        blank=False,
        required=True,
        description="Your reference of the purchase. It marks one testimonial.",
    )
    name = AuthorLine(load_default="", description="Of the customer; fills in the form.")
    email = Email(is_lasting=False, description="Of the customer; fills in the form.")
    company = AuthorLine(load_default="")
    form = Text(
        SLUG_LENGTH,
        one_line=True,
        load_default="",
        description="The name of the form to open; left out: the project’s own page.",
    )
    language = Choice(
        *(language.code for language in LANGUAGES), description="Of the page that it opens."
    )
    expiresInDays = Count(
        1, MOST_DAYS, attribute="days", load_default=60, description="How long the link works."
    )


class PurchaseLinkSchema(Schema):
    """A link that proves a purchase."""

    url = fields.String(required=True)
    order = fields.String(required=True)
    isUsed = fields.Boolean(
        required=True,
        metadata={"description": "Whether a testimonial is marked for this purchase already."},
    )
    expiresAt = Time(required=True)
