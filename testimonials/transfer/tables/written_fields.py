"""Fields of a file as services write them."""

from typing import Any, ClassVar

from marshmallow import ValidationError

from testimonials.core.web.fields import RuleField
from testimonials.core.web.languages import gettext, gettext_noop
from testimonials.testimonials.fields import Rating
from testimonials.transfer.tables.dates import DateWrong, read_date
from testimonials.transfer.tables.ratings import read_rating

# The words for each status in the files of other services.
_STATES = {
    "approved": {"approved", "true", "yes", "1", "published", "public", "live", "active", "ok"},
    "pending": {
        *("pending", "false", "no", "0", "unapproved", "unpublished", "draft", "hidden"),
        *("inactive", "not-yet", "new"),
    },
    "rejected": {"rejected", "declined"},
}
_NOT_IMPORTED = {"spam", "withdrawn", "demo", "archived"}


class WrittenRating(Rating):
    """A rating as services write it."""

    form_messages: ClassVar[dict[str, str]] = {
        "invalid": gettext_noop("Must be a number from 1 to 5, or empty for none.")
    }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        return super()._deserialize(read_rating(value), attr, data, **kwargs)


class WrittenDate(RuleField):
    """A date in any common form; `order` is that of its day and month."""

    def __init__(self, order: str | None, **options: Any) -> None:
        super().__init__(rule="Must be a date.", **options)
        self.order = order

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        try:
            return read_date(value, self.order)
        except DateWrong as error:
            raise ValidationError(f"“{value[:40]}”. {error}") from None


class WrittenStatus(RuleField):
    """A status as any service writes it; approved testimonials get the `usual` one."""

    def __init__(self, usual: str, **options: Any) -> None:
        super().__init__(rule="Must be a status.", **options)
        self.usual = usual

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if value.lower() in _NOT_IMPORTED:
            raise ValidationError(
                gettext("Testimonials that are “%(status)s” are not imported.", status=value)
            )
        for status, words in _STATES.items():
            if value.lower() in words:
                return self.usual if status == "approved" else status
        raise ValidationError(
            gettext(
                "“%(status)s” is not a known status. Use approved, pending or rejected.",
                status=value[:40],
            )
        )
