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
from testimonials.testimonials.fields import AuthorLine

NAME_LENGTH, TITLE_LENGTH = 60, 80
FORM_NAME = OneLine(
    NAME_LENGTH,
    blank=False,
    description="Part of its URL, `/<slug>/f/<name>`; converted to lower case with dashes.",
)


class WholeQuestionSchema(WholeSchema, page_design.QuestionSchema):
    translations = page_design.question_translations("WholeQuestion")


class WholeStepSchema(WholeSchema, page_design.StepSchema):
    pass


class WholeFocusSchema(WholeSchema, page_design.FocusSchema):
    pass


class WholePageDesignSchema(WholeSchema, page_design.PageDesignSchema):
    coverFocus = fields.Nested(WholeFocusSchema)
    questions = page_design.question_list(WholeQuestionSchema)
    steps = page_design.step_list(WholeStepSchema)
    translations = page_design.page_translations("WholePage")
    coverUrl = String(allow_none=True, description="Set by `PUT cover`.")
    portraitUrl = String(
        allow_none=True, description="The face beside the signature; set by `PUT portrait`."
    )


class FormDesignSchema(StrictSchema):
    """A form's own design; empty texts and prompts are taken from the page."""

    headline = OneLine(defaults.HEADLINE_LENGTH)
    description = Text(defaults.DESCRIPTION_LENGTH)
    prompts = page_design.prompt_list()
    questions = page_design.question_list()
    tag = OneLine(
        TAG_LENGTH,
        description="The tag of testimonials sent from this form.",
        metadata={"pattern": f"^$|{TAG_PATTERN}"},
    )
    translations = page_design.word_translations("Form")


class FormUpdateSchema(FormDesignSchema):
    """The body of PATCH forms."""

    name = FORM_NAME
    title = OneLine(TITLE_LENGTH, blank=False, description="Your name for it.")
    isOpen = Switch(attribute="is_open", description="Whether it accepts submissions.")


class FormCreateSchema(FormUpdateSchema):
    """The body of POST forms."""

    title = OneLine(
        TITLE_LENGTH,
        blank=False,
        required=True,
        description="Your name for it, and its URL unless `name` is sent.",
    )


class FormSchema(WholeSchema, FormDesignSchema):
    name = fields.String()
    title = fields.String()
    isOpen = fields.Boolean(attribute="is_open")
    url = fields.String()
    questions = page_design.question_list(WholeQuestionSchema)
    translations = page_design.word_translations("WholeForm")
    createdAt = Time(attribute="created_at")
    updatedAt = Time(attribute="updated_at")


class AskedPersonSchema(SparseSchema):
    """Somebody who was asked for a testimonial by email, and the state of the request."""

    _id = String(attribute="id", required=True)
    email = String(attribute="request.email", required=True)
    name = String(attribute="request.name", required=True)
    company = String(attribute="request.company")
    order = String(
        attribute="request.purchase_reference",
        description="The purchase that the link in the email proves.",
    )
    state = Choice(
        *REQUEST_STATES,
        required=True,
        description="`waiting`: the email wasn't sent yet; `printed`: it won't be sent, since this "
        "service has no mail server; `started`: they began to write; `failed`: it wasn't "
        "delivered.",
    )
    problem = String(description="Why the email wasn't delivered.")
    testimonialId = String(
        attribute="request.testimonial_id", description="The testimonial that they sent."
    )
    createdAt = Time(attribute="created_at", required=True)
    sentAt = Time(attribute="request.sent_at")
    remindedAt = Time(attribute="request.reminded_at")
    openedAt = Time(attribute="request.opened_at")
    startedAt = Time(attribute="request.started_at")
    answeredAt = Time(attribute="request.answered_at")
    declinedAt = Time(attribute="request.declined_at")
    unsubscribedAt = Time(attribute="unsubscribed_at")


class AskedQuerySchema(CursorQuerySchema):
    state = Choice(
        *REQUEST_STATES, load_default=None, allow_none=False, description="Only in this state."
    )


class LeftOutSchema(WholeSchema):
    """Somebody who wasn't asked, and why."""

    email = String()
    reason = String()


class AskedSchema(WholeSchema):
    count = Number(description="How many people are asked.")
    leftOut = List(
        fields.Nested(LeftOutSchema),
        description="Who isn't asked: asked already, unsubscribed, or listed twice.",
    )
    hasMailServer = Switch(
        description="If false, this service has no mail server and sends no mail; its operator "
        "sees the emails in the log."
    )


class PurchaseLinkCreateSchema(StrictSchema):
    order = OneLine(
        REFERENCE_LENGTH,
        blank=False,
        required=True,
        description="Your reference for the purchase. It marks one testimonial.",
    )
    name = AuthorLine(load_default="", description="The customer's; pre-fills the form.")
    email = Email(is_lasting=False, description="The customer's; pre-fills the form.")
    company = AuthorLine(load_default="")
    form = OneLine(
        defaults.SLUG_LENGTH,
        load_default="",
        description="The name of the form to open; by default the project’s own page.",
    )
    language = Choice(
        *(language.code for language in LANGUAGES), description="The language of the page."
    )
    expiresInDays = Count(
        1, 365, attribute="days", load_default=60, description="How long the link works."
    )


class PurchaseLinkSchema(WholeSchema):
    url = String()
    order = String()
    isUsed = Switch(description="Whether a testimonial was already marked for this purchase.")
    expiresAt = Time()


class PictureQuerySchema(StrictSchema):
    look = Choice(*LOOKS, load_default=LOOKS[0], description="In the widget's colors.")
    size = Choice(
        *SIZES,
        load_default="landscape",
        description="`landscape` is 1200 x 630 pixels, `square` 1080 x 1080, and `story` "
        "1080 x 1920 with room for an app's buttons.",
    )
