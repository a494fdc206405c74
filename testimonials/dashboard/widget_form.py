"""What the page editor sends."""

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from marshmallow import fields, missing
from werkzeug.datastructures import MultiDict

from testimonials.core.faults import FAULTS
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.http.fields import Text
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import gettext_noop
from testimonials.projects.projects import complete_website

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
