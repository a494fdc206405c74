"""What a visitor or an author sends from a page, and the sentence that they agree to."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from marshmallow import post_load

from testimonials.auth.addresses import Email
from testimonials.core.web.fields import Switch
from testimonials.core.web.forms import FormSchema, SentForm
from testimonials.core.web.languages import gettext, gettext_noop
from testimonials.projects.models import Project
from testimonials.testimonials.fields import AuthorLine, AuthorName, Rating, Words

# Asked for where the project collects them.
OPTIONAL = ("role", "company", "email", "rating")


# Without the author's photo, and with it.
_CONSENTS = {
    "written": (
        gettext_noop("%(name)s may show my words and name on its website and in print."),
        gettext_noop("%(name)s may show my words, name and photo on its website and in print."),
    ),
    "video": (
        gettext_noop(
            "%(name)s may show my video, voice, words and name on its website and in print."
        ),
        gettext_noop(
            "%(name)s may show my video, voice, words, name and photo on its website and in print."
        ),
    ),
    "voice": (
        gettext_noop(
            "%(name)s may play my voice and show my words and name on its website and in print."
        ),
        gettext_noop(
            "%(name)s may play my voice and show my words, name and photo on its website and in "
            "print."
        ),
    ),
    "any": (
        gettext_noop(
            "%(name)s may show my words and name, and my video or voice if I send one, on its "
            "website and in print."
        ),
        gettext_noop(
            "%(name)s may show my words, name and photo, and my video or voice if I send one, on "
            "its website and in print."
        ),
    ),
}


class WordsForm(FormSchema):
    """What an author may correct."""

    text = Words(error_messages={"required": gettext_noop("Write a sentence or two.")})
    name = AuthorName(
        attribute="author_name",
        error_messages={"required": gettext_noop("Add your name, as it should appear.")},
    )
    role = AuthorLine(attribute="author_role", load_default="")
    company = AuthorLine(attribute="author_company")
    rating = Rating(is_whole=True)


class SentenceForm(WordsForm):
    """What the author of a recording may correct."""

    text = Words(required=False, load_default="")


class ConsentForm(FormSchema):
    """The consent to show the words."""

    consent = Switch(
        required=True,
        error_messages={"required": gettext_noop("Tick this, so that your words may be shown.")},
    )

    @post_load
    def _drop_consent(self, values: dict[str, Any], **_: Any) -> dict[str, Any]:
        # The sentence is stored, not the tick.
        values.pop("consent", None)
        return values


class SubmissionForm(WordsForm, ConsentForm):
    """The form of the collection page."""

    email = Email(
        attribute="author_email",
        error_messages={
            "malformed": gettext_noop(
                "Write the address like name@example.com, or leave it empty."
            ),
            "disposable": gettext_noop("Use a permanent address, or leave this empty."),
        },
    )


class RecordingForm(SubmissionForm):
    """The form of the collection page, sent with a recording."""

    text = Words(required=False, load_default="")


class MailMeForm(FormSchema):
    """Where the author's own link is mailed to."""

    email = Email(required=True)


def read_submission(
    form: Mapping[str, str], collect: Mapping[str, bool], *, has_recording: bool = False
) -> SentForm:
    """Read what a visitor sent, of the fields that the project collects.

    With a recording, the words may be left out.
    """
    schema = RecordingForm if has_recording else SubmissionForm
    return _make_schema(schema, _asked(collect)).read(form)


def read_correction(
    form: Mapping[str, str], collect: Mapping[str, bool], *, has_recording: bool = False
) -> SentForm:
    """Read what an author sent, of the fields that their form has."""
    schema = SentenceForm if has_recording else WordsForm
    return _make_schema(schema, _asked(collect)).read(form)


def read_prefill(query: Mapping[str, str], collect: Mapping[str, bool]) -> dict[str, str]:
    """Return what a link such as ``?name=Aiko&rating=5`` fills in, where the project asks for it.

    Invalid values are ignored: the visitor didn't write them.
    """
    sent = read_submission(query, collect)
    return {
        name: text
        for name in ("name", *OPTIONAL)
        if (text := sent.typed.get(name, "").strip()) and name not in sent.errors
    }


def consent_sentence(project: Project, kind: str = "written") -> str:
    """Return the sentence that a visitor agrees to; the testimonial keeps it.

    `kind` is that of the testimonial, or "any" where a file may come with the form.
    """
    shows_photo = bool(project.page_config["collectFields"].get("avatar"))
    return gettext(_CONSENTS[kind][shows_photo], name=project.name)


def _asked(collect: Mapping[str, bool]) -> frozenset[str]:
    return frozenset(name for name in OPTIONAL if collect.get(name))


@cache
def _make_schema(schema: type[FormSchema], asked: frozenset[str]) -> FormSchema:
    return schema(only=[n for n in schema().fields if n in asked or n not in OPTIONAL])
