"""Objects and lists within the bodies of calls."""

from typing import Any

from marshmallow import fields, validate

from testimonials.core.web.fields import NULL, Parts, StrictSchema


def make_part(schema: type[StrictSchema], **options: Any) -> fields.Nested:
    """Return the field of an object within a body."""
    return fields.Nested(schema, error_messages=_messages("Must be an object."), **options)


def make_parts(each: fields.Field[Any], most: int, **options: Any) -> Parts:
    """Return the field of a list within a body, of 1 to `most` values."""
    size = validate.Length(min=1, max=most, error=f"Must be a list of 1 to {most}.")
    messages = _messages("Must be a list.")
    return Parts(each, validate=size, error_messages=messages, **options)


def _messages(rule: str) -> dict[str, Any]:
    required = f"This field is required. {rule}"
    return {"required": required, "null": f"{NULL} {rule}", "invalid": rule}
