"""The form of the widget editor: one control each, by the names of `widget_values`."""

from typing import Any, ClassVar

from marshmallow import ValidationError, validate
from werkzeug.datastructures import MultiDict

from testimonials.core.text_rules import TAG_LENGTH
from testimonials.core.web.fields import Choice, Colour, Count, RuleField, Switch, Text
from testimonials.core.web.languages import gettext_noop
from testimonials.dashboard.editors.forms import Edit, EditorForm, Website, read_edit
from testimonials.dashboard.editors.widget_values import DATES, LAYOUTS, MARQUEES, STARS
from testimonials.projects.configuration import widget_design as design
from testimonials.projects.configuration.dashboard_config import CTA_LABEL_LENGTH, URL_LENGTH
from testimonials.projects.schemas import WidgetConfigUpdateSchema
from testimonials.widget.design.looks import LOOKS

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
        if len(value) > design.MAX_TAGS:
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
    shape = Text(TAG_LENGTH, one_line=True, validate=validate.OneOf(design.SHAPES))
    stars = Choice(*STARS)
    dates = Choice(*DATES)
    brandColor = BrandColour()
    font = Choice(*design.FONTS)
    radius = design.NumberChoice(*design.RADII)
    density = Choice(*design.DENSITIES)
    photoSize = design.NumberChoice(*design.PHOTO_SIZES)
    cardWidth = Choice(*design.CARD_WIDTHS)
    featured = Choice(*design.FEATURED)
    showHeader = Switch()
    showHighlights = Switch()
    order = Choice(*design.ORDERS)
    minRating = Count(0, 5)
    minLength = Count(*design.MIN_LENGTH_RANGE)
    tags = Tags()
    onlyChosen = Switch()
    labelShowMore = Text(design.LABEL_LENGTH, one_line=True)
    labelReadMore = Text(design.LABEL_LENGTH, one_line=True)
    labelShowLess = Text(design.LABEL_LENGTH, one_line=True)
    ctaLabel = Text(CTA_LABEL_LENGTH, one_line=True)
    ctaUrl = Website(URL_LENGTH, one_line=True)


def read_widget_form(form: MultiDict[str, str]) -> Edit:
    """Read the form, or a part of it as scripts send it."""
    joined = MultiDict(form)
    if "tags" in form:
        joined["tags"] = SEPARATOR.join(form.getlist("tags")[: design.MAX_TAGS + 1])
    return read_edit(WidgetForm(), joined)
