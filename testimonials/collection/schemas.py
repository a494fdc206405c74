"""Forms, requests, purchase links and share pictures in the API."""

from marshmallow import fields

from testimonials.auth.email_addresses import Email
from testimonials.collection.address_lists import REFERENCE_LENGTH
from testimonials.collection.images.draw import LOOKS, SIZES
from testimonials.collection.models import REQUEST_STATES
from testimonials.core.http.answers import CursorQuerySchema
from testimonials.core.http.fields import (
    Choice,
    Count,
    List,
    Number,
    OneLine,
    SparseSchema,
    StrictSchema,
    String,
    Switch,
    Text,
    Time,
    WholeSchema,
)
from testimonials.core.http.i18n import LANGUAGES
from testimonials.core.text import TAG_LENGTH, TAG_PATTERN
from testimonials.projects import defaults, page_design
from testimonials.projects.page_design import (
    QuestionSchema,
    prompt_list,
    question_list,
    question_translations,
    word_translations,
)
from testimonials.testimonials.fields import AuthorLine

NAME_LENGTH, TITLE_LENGTH = 60, 80
FORM_NAME = OneLine(
    NAME_LENGTH,
    blank=False,
    description="In its address, `/<slug>/f/<name>`: becomes lower case with dashes.",
)


class WholeQuestionSchema(WholeSchema, QuestionSchema):
    """A question of the owner's own, as the API shows it."""

    translations = question_translations("WholeQuestion")


class WholeStepSchema(WholeSchema, page_design.StepSchema):
    """A step after sending, as the API shows it."""


class WholeFocusSchema(WholeSchema, page_design.FocusSchema):
    """The point of the cover that always shows, in percent from the left and the top."""


class WholePageDesignSchema(WholeSchema, page_design.PageDesignSchema):
    """All of the page's design, as the API shows it."""

    coverFocus = fields.Nested(WholeFocusSchema)
    questions = question_list(WholeQuestionSchema)
    steps = page_design.step_list(WholeStepSchema)
    translations = page_design.page_translations("WholePage")
    coverUrl = String(allow_none=True, description="Changed by `PUT cover`.")
    portraitUrl = String(
        allow_none=True, description="The face beside the signature; changed by `PUT portrait`."
    )


class FormDesignSchema(StrictSchema):
    """What a form has of its own; empty words and prompts are the page's."""

    headline = OneLine(defaults.HEADLINE_LENGTH)
    description = Text(defaults.DESCRIPTION_LENGTH)
    prompts = prompt_list()
    questions = question_list()
    tag = OneLine(
        TAG_LENGTH,
        description="What is sent by this form gets this tag.",
        metadata={"pattern": f"^$|{TAG_PATTERN}"},
    )
    translations = word_translations("Form")


class FormUpdateSchema(FormDesignSchema):
    """The body of PATCH forms; only the fields that are sent change."""

    name = FORM_NAME
    title = OneLine(TITLE_LENGTH, blank=False, description="What you call it.")
    isOpen = Switch(attribute="is_open", description="false: it takes nothing now.")


class FormCreateSchema(FormUpdateSchema):
    """The body of POST forms."""

    title = OneLine(
        TITLE_LENGTH,
        blank=False,
        required=True,
        description="What you call it; names its address if `name` doesn't.",
    )


class FormSchema(WholeSchema, FormDesignSchema):
    """A form of a project."""

    name = fields.String()
    title = fields.String()
    isOpen = fields.Boolean(attribute="is_open")
    url = fields.String()
    questions = question_list(WholeQuestionSchema)
    translations = word_translations("WholeForm")
    createdAt = Time(attribute="created_at")
    updatedAt = Time(attribute="updated_at")


# Shapes of the API's answers about requests by mail.


class AskedPersonSchema(SparseSchema):
    """Somebody who was asked for a testimonial by mail, and what came of it."""

    _id = String(attribute="id", required=True)
    email = String(attribute="request.email", required=True)
    name = String(attribute="request.name", required=True)
    company = String(attribute="request.company")
    order = String(
        attribute="request.purchase_reference",
        description="The purchase that the link in the mail proves.",
    )
    state = Choice(
        *REQUEST_STATES,
        required=True,
        description="`waiting`: the mail has not left; `printed`: it never will, since this "
        "service has no mail server; `started`: they began to write; `failed`: it was not "
        "delivered.",
    )
    problem = String(description="Why the mail was not delivered.")
    testimonialId = String(attribute="request.testimonial_id", description="What they answered.")
    createdAt = Time(attribute="created_at", required=True)
    sentAt = Time(attribute="request.sent_at")
    remindedAt = Time(attribute="request.reminded_at")
    openedAt = Time(attribute="request.opened_at")
    startedAt = Time(attribute="request.started_at")
    answeredAt = Time(attribute="request.answered_at")
    declinedAt = Time(attribute="request.declined_at")
    unsubscribedAt = Time(attribute="unsubscribed_at")


class AskedQuerySchema(CursorQuerySchema):
    """The query of the list of who was asked."""

    state = Choice(
        *REQUEST_STATES, load_default=None, allow_none=False, description="Only those in it."
    )


class LeftOutSchema(WholeSchema):
    """Somebody who was not asked, and why."""

    email = String()
    reason = String()


class AskedSchema(WholeSchema):
    """Who is asked by mail."""

    count = Number(description="How many people are asked.")
    leftOut = List(
        fields.Nested(LeftOutSchema),
        description="Who is not: asked already, unsubscribed, or listed twice.",
    )
    hasMailServer = Switch(
        description="false: this service has no mail server, so no mail leaves it; its "
        "operator sees the mails in the log."
    )


# Shapes of the API's links that prove a purchase.

MOST_DAYS = 365


class PurchaseLinkCreateSchema(StrictSchema):
    """A purchase, and how the link to write about it should be."""

    order = OneLine(
        REFERENCE_LENGTH,
        blank=False,
        required=True,
        description="Your reference of the purchase. It marks one testimonial.",
    )
    name = AuthorLine(load_default="", description="Of the customer; fills in the form.")
    email = Email(is_lasting=False, description="Of the customer; fills in the form.")
    company = AuthorLine(load_default="")
    form = OneLine(
        defaults.SLUG_LENGTH,
        load_default="",
        description="The name of the form to open; left out: the project’s own page.",
    )
    language = Choice(
        *(language.code for language in LANGUAGES), description="Of the page that it opens."
    )
    expiresInDays = Count(
        1, MOST_DAYS, attribute="days", load_default=60, description="How long the link works."
    )


class PurchaseLinkSchema(WholeSchema):
    """A link that proves a purchase."""

    url = String()
    order = String()
    isUsed = Switch(description="Whether a testimonial is marked for this purchase already.")
    expiresAt = Time()


# The query of a testimonial's picture.


class PictureQuerySchema(StrictSchema):
    """How a picture looks and how large it is."""

    look = Choice(*LOOKS, load_default=LOOKS[0], description="Its colours follow the widget's.")
    size = Choice(
        *SIZES,
        load_default="landscape",
        description="`landscape` has 1200 x 630 pixels, `square` 1080 x 1080, `story` 1080 x 1920 "
        "with room for an app's buttons.",
    )
