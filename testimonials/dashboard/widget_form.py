"""What the widget editor sends."""

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from marshmallow import ValidationError, fields, missing, validate
from werkzeug.datastructures import MultiDict

from testimonials.core.faults import FAULTS
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.http.fields import Choice, Colour, Count, RuleField, Switch, Text
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.text import TAG_LENGTH
from testimonials.dashboard.widget_values import DATES, LAYOUTS, MARQUEES, STARS
from testimonials.projects import widget_design
from testimonials.projects.defaults import CTA_LABEL_LENGTH, URL_LENGTH
from testimonials.projects.projects import complete_website
from testimonials.projects.schemas import WidgetConfigUpdateSchema
from testimonials.widget.drafts import LOOKS

# The editors' forms. Each sends the settings it showed along as ``before``.
#
# That way only what somebody changed is written, not what a colleague changed meanwhile.


class Website(Text):
    """An http(s) URL; https:// is added if no scheme was typed."""

    form_messages: ClassVar[dict[str, str]] = Text.form_messages | {
        "url": gettext_noop("Write a web address, such as example.com.")
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
        if isinstance(field_obj, Text):
            field_obj.load_default = ""
        elif field_obj.load_default is missing:
            field_obj.required = True
        super().on_bind_field(field_name, field_obj)


@dataclass(frozen=True)
class Edit:
    """An editor's form: what to show again, what differs from ``before``, and the errors."""

    shown: dict[str, Any]
    changes: dict[str, Any]
    errors: dict[str, list[str]]


def read_edit(schema: EditorForm, form: MultiDict[str, str]) -> Edit:
    sent = schema.read(form, is_partial=True)
    before = read_before(form.get("before", ""))
    changes = {name: value for name, value in sent.values.items() if value != before.get(name)}
    return Edit(sent.typed | sent.values, changes, sent.errors)


def read_before(text: str) -> dict[str, Any]:
    before = None
    with suppress(*FAULTS):
        before = json.loads(text or "{}")
    return before if isinstance(before, dict) else {}


# The form of the widget editor: one control each, by the names of `widget_values`.

# No tag has one.
SEPARATOR = ","


class BrandColour(Text):
    """A colour as `#RRGGBB`, also without the sign or of three digits; empty for the palette's."""

    form_messages: ClassVar[dict[str, str]] = Text.form_messages | {
        "colour": gettext_noop("Write a colour such as #4F46E5.")
    }

    def __init__(self) -> None:
        super().__init__(TAG_LENGTH, one_line=True)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        digits = super()._deserialize(value, attr, data, **kwargs).removeprefix("#")
        if len(digits) == 3:
            digits = "".join(digit * 2 for digit in digits)
        try:
            return Colour().deserialize(f"#{digits}") if digits else ""
        except ValidationError:
            raise self.make_error("colour") from None


class Tags(RuleField):
    """The tags whose boxes are ticked, of which `read_widget_form` makes one text."""

    def __init__(self) -> None:
        super().__init__(rule=gettext_noop("Choose at most 20 tags."), load_default=list)

    def from_text(self, text: str) -> Any:
        return [tag for tag in text.split(SEPARATOR) if tag.strip()]

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if len(value) > widget_design.MAX_TAGS:
            raise self.make_error("invalid")
        return [Text(TAG_LENGTH, one_line=True).deserialize(each) for each in value]


class WidgetForm(EditorForm, WidgetConfigUpdateSchema):
    """All controls; a rule of a specified setting is the API's."""

    class Meta(EditorForm.Meta, WidgetConfigUpdateSchema.Meta):
        """Ignores other fields."""

        exclude = ("animation", "showStars", "showDates")

    # Not a setting, but several at once.
    look = Text(TAG_LENGTH, one_line=True, validate=validate.OneOf(["", *LOOKS]))
    layout = Choice(*LAYOUTS)
    marquee = Choice(*MARQUEES)
    shape = Text(TAG_LENGTH, one_line=True, validate=validate.OneOf(widget_design.SHAPES))
    stars = Choice(*STARS)
    dates = Choice(*DATES)
    brandColor = BrandColour()
    font = Choice(*widget_design.FONTS)
    radius = widget_design.NumberChoice(*widget_design.RADII)
    density = Choice(*widget_design.DENSITIES)
    photoSize = widget_design.NumberChoice(*widget_design.PHOTO_SIZES)
    cardWidth = Choice(*widget_design.CARD_WIDTHS)
    featured = Choice(*widget_design.FEATURED)
    showHeader = Switch()
    showHighlights = Switch()
    order = Choice(*widget_design.ORDERS)
    minRating = Count(0, 5)
    minLength = Count(*widget_design.MIN_LENGTH_RANGE)
    tags = Tags()
    onlyChosen = Switch()
    labelShowMore = Text(widget_design.LABEL_LENGTH, one_line=True)
    labelReadMore = Text(widget_design.LABEL_LENGTH, one_line=True)
    labelShowLess = Text(widget_design.LABEL_LENGTH, one_line=True)
    ctaLabel = Text(CTA_LABEL_LENGTH, one_line=True)
    ctaUrl = Website(URL_LENGTH, one_line=True)


def read_widget_form(form: MultiDict[str, str]) -> Edit:
    """Read the form, or a part of it as scripts send it."""
    joined = MultiDict(form)
    if "tags" in form:
        joined["tags"] = SEPARATOR.join(form.getlist("tags")[: widget_design.MAX_TAGS + 1])
    return read_edit(WidgetForm(), joined)
