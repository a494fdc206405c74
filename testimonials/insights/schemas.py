"""Shapes of what the API and the command say of views, reads, forms and ratings."""

from typing import Any

from marshmallow import Schema, fields

from testimonials.core.web.endpoint import QuerySchema
from testimonials.core.web.fields import RuleField, Time
from testimonials.insights.services import PERIODS, USUAL_PERIOD

# Of testimonials and of websites.
MOST_LISTED = 200


class Days(RuleField, fields.Integer):
    """One of the periods, in a query string."""

    def __init__(self, **options: Any) -> None:
        rule = f"Must be one of: {', '.join(map(str, PERIODS))}."
        super().__init__(rule=rule, metadata={"enum": list(PERIODS)}, **options)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if value not in map(str, PERIODS):
            raise self.make_error("invalid")
        return int(value)


class InsightsQuerySchema(QuerySchema):
    """The query of GET .../insights."""

    days = Days(load_default=USUAL_PERIOD)


class Date(fields.String):
    """A day in UTC, as YYYY-MM-DD."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=True, metadata={"format": "date"}, **options)


class Number(fields.Integer):
    """How many there are."""

    def __init__(self, description: str = "") -> None:
        super().__init__(required=True, metadata={"description": description})


class Average(fields.Float):
    """Of ratings, to one decimal; null where there are none, which services say as 0."""

    def __init__(self) -> None:
        super().__init__(
            required=True, allow_none=True, metadata={"description": "To one decimal; null: none."}
        )

    def _serialize(self, value: Any, attr: Any, obj: Any, **kwargs: Any) -> Any:
        return super()._serialize(value or None, attr, obj, **kwargs)


class PeriodSchema(Schema):
    """The days of which figures are; the last one is today."""

    days = Number()
    first = Date(data_key="from", attribute="from")
    to = Date()


class ViewsSchema(Schema):
    """Views of the widget and of the wall."""

    widget = Number()
    wall = Number()
    total = Number()
    previous = Number("In as many days before.")


class DaySchema(Schema):
    """Views and clicks of one day."""

    day = Date()
    widget = Number("Views of the widget.")
    wall = Number("Views of the wall.")
    clicks = Number("Clicks on the button, on both.")


class FunnelSchema(Schema):
    """The way from opening a collection form to being shown."""

    opened = Number()
    started = Number()
    sent = Number("In these days, without spam.")
    approved = Number("Of those that were sent in these days.")


class RequestCountsSchema(Schema):
    """Requests by mail of these days, and what has come of them since."""

    sent = Number()
    opened = Number()
    answered = Number()


class ReadSchema(Schema):
    """How often a testimonial was seen and read."""

    testimonialId = fields.String(attribute="id", required=True)
    seen = Number("Half of it was on a screen.")
    read = Number("For 5 seconds, or more of it was opened, or it was played.")


class ViewedWebsiteSchema(Schema):
    """A website that showed the widget."""

    website = fields.String(
        required=True,
        metadata={"description": "Its host; empty for the wall; `*` for all beyond 50 of a day."},
    )
    views = Number()
    clicks = Number()
    lastSeenAt = Time(attribute="last_seen_at", required=True)


class QuietWebsiteSchema(Schema):
    """A website that showed the widget in the last 30 days, but not in the last 3."""

    website = fields.String(required=True)
    lastSeenAt = Time(attribute="last_seen_at", required=True)


class WeekSchema(Schema):
    """The ratings of one week."""

    first = Date(data_key="from", attribute="from")
    average = Average()
    count = Number()


class RatingsSchema(Schema):
    """Ratings of what is shown, by when it was said; samples left out."""

    average = Average()
    count = Number()
    stars = fields.List(
        fields.Integer(),
        required=True,
        metadata={"description": "How many have 5, 4, 3, 2 and 1 stars."},
    )
    weeks = fields.List(
        fields.Nested(WeekSchema),
        required=True,
        metadata={"description": "Weeks with ratings, from Monday."},
    )


class InsightsSchema(Schema):
    """What happened in a period, in days of UTC."""

    period = fields.Nested(PeriodSchema, required=True)
    views = fields.Nested(ViewsSchema, required=True)
    clicks = Number()
    days = fields.List(fields.Nested(DaySchema), required=True)
    funnel = fields.Nested(FunnelSchema, required=True)
    requests = fields.Nested(RequestCountsSchema, required=True)
    testimonials = fields.List(
        fields.Nested(ReadSchema),
        required=True,
        metadata={"description": f"What was read most, at most {MOST_LISTED}."},
    )
    websites = fields.List(
        fields.Nested(ViewedWebsiteSchema),
        required=True,
        metadata={"description": f"Most views first, at most {MOST_LISTED}."},
    )
    quiet = fields.List(fields.Nested(QuietWebsiteSchema), required=True)
    ratings = fields.Nested(RatingsSchema, required=True)
