"""The forms of the editors. Each sends the settings that it showed along, as ``before``."""

from dataclasses import dataclass
from typing import Any, ClassVar

from marshmallow import fields
from werkzeug.datastructures import MultiDict

from testimonials.core.web.errors import ValidationFailed
from testimonials.core.web.fields import Choice, Colour, Switch, Text
from testimonials.core.web.forms import FormSchema, SentForm
from testimonials.dashboard.forms import read_before
from testimonials.projects.configuration import defaults
from testimonials.projects.configuration.dashboard_config import (
    CTA_LABEL_LENGTH,
    RATED_KINDS,
    RATED_NAME_LENGTH,
    URL_LENGTH,
)
from testimonials.projects.schemas import WidgetConfigUpdateSchema
from testimonials.projects.services import complete_website

ASKED = ("rating", "role", "company", "avatar", "email")


class Website(Text):
    """An http(s) URL, which gets https:// where no scheme was typed."""

    form_messages: ClassVar[dict[str, str]] = Text.form_messages | {
        "url": "Write a web address, such as example.com."
    }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        try:
            url = complete_website(value.strip())
        except ValidationFailed:
            raise self.make_error("url") from None
        return super()._deserialize(url, attr, data, **kwargs)


class EditorForm(FormSchema):
    """A text may be left empty; every other setting has one of its values."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Let a text be emptied, and nothing else."""
        if isinstance(field_obj, Text):
            field_obj.load_default = ""
        else:
            field_obj.required = True
        super().on_bind_field(field_name, field_obj)


class WidgetForm(EditorForm, WidgetConfigUpdateSchema):
    """The widget's settings by their names in the API, and its button."""

    class Meta(EditorForm.Meta, WidgetConfigUpdateSchema.Meta):
        """Passes over other fields."""

    ctaLabel = Text(CTA_LABEL_LENGTH, one_line=True)  # noqa: N815
    ctaUrl = Website(URL_LENGTH, one_line=True)  # noqa: N815


class PageForm(EditorForm):
    """The collection page's settings by their names in the API, and what it asks for."""

    class Meta(EditorForm.Meta):
        include: ClassVar[dict[str, Any]] = {f"ask-{name}": Switch() for name in ASKED}

    businessName = Text(defaults.BUSINESS_NAME_LENGTH, one_line=True)  # noqa: N815
    website = Website(defaults.WEBSITE_LENGTH, one_line=True)
    headline = Text(defaults.HEADLINE_LENGTH, one_line=True)
    description = Text(defaults.DESCRIPTION_LENGTH)
    thankYouMessage = Text(defaults.THANK_YOU_LENGTH)  # noqa: N815
    theme = Choice(*defaults.THEMES)
    buttonColor = Colour()  # noqa: N815
    buttonTextColor = Colour()  # noqa: N815
    showConfetti = Switch()  # noqa: N815


class RatedForm(FormSchema):
    """What the ratings are about; without a kind, nothing."""

    kind = Choice(*RATED_KINDS, required=True)
    name = Text(
        RATED_NAME_LENGTH,
        one_line=True,
        required=True,
        error_messages={"required": "Write the name of what is rated."},
    )


@dataclass(frozen=True)
class Edit:
    """An editor's form: what to show again, what differs from ``before``, and the errors."""

    shown: dict[str, Any]
    changes: dict[str, Any]
    errors: dict[str, list[str]]


def read_edit(schema: EditorForm, form: MultiDict[str, str]) -> Edit:
    """Read the settings that were sent; others stay as they are."""
    sent = schema.read(form, is_partial=True)
    before = read_before(form.get("before", ""))
    changes = {name: value for name, value in sent.values.items() if value != before.get(name)}
    return Edit(sent.typed | sent.values, changes, sent.errors)


def read_rated_form(form: MultiDict[str, str]) -> SentForm:
    """Read what is rated; there are no values where it is switched off."""
    sent = RatedForm().read(form)
    return sent if sent.typed["kind"] else SentForm(sent.typed, {}, {})
