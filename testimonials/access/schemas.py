"""Shapes of requests for access in the API."""

from typing import Any

from marshmallow import Schema, fields, post_dump

from testimonials.access.scopes import Scope
from testimonials.core.web.fields import Choice, RuleField, StrictSchema, Text, Time


class Scopes(RuleField, fields.List[Any]):
    """One scope or more."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            cls_or_instance=Choice(*Scope),
            rule=f"Must be a list of one or more of: {', '.join(Scope)}.",
            metadata={
                "minItems": 1,
                "description": " ".join(f"`{each}`: {each.sentence}" for each in Scope),
            },
            **options,
        )

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, list) or not value or not all(each in [*Scope] for each in value):
            raise self.make_error("invalid")
        return [Scope(each) for each in value]


class AccessAskSchema(StrictSchema):
    name = Text(
        80,
        one_line=True,
        blank=False,
        required=True,
        description="What the owner calls whoever uses the token, such as the agent’s name.",
    )
    scopes = Scopes(required=True)
    projectId = fields.String(
        metadata={"description": "Asks for this project alone. Left out: for all projects."}
    )
    reason = Text(
        500, blank=False, required=True, description="What it is for. The owner reads it."
    )


class AccessRequestSchema(Schema):
    """A request for access, and what became of it."""

    _id = fields.String(attribute="id", required=True)
    status = fields.String(
        attribute="state",
        required=True,
        metadata={"enum": ["waiting", "granted", "declined", "expired"]},
    )
    url = fields.String(
        required=True,
        metadata={"format": "uri", "description": "Give it to the owner, who decides there."},
    )
    name = fields.String(required=True)
    scopes = fields.List(fields.String(), required=True)
    projectId = fields.String(attribute="project_id", allow_none=True, required=True)
    reason = fields.String(required=True)
    grantedScopes = fields.List(
        fields.String(),
        attribute="granted_scopes",
        metadata={"description": "Once granted: what the owner chose."},
    )
    # The view adds it; the row has a relationship of this name.
    token = fields.String(
        attribute="plain_text",
        metadata={"description": "The access token, in the first answer after it was granted."},
    )
    createdAt = Time(attribute="created_at", required=True)
    expiresAt = Time(
        attribute="expires_at",
        required=True,
        metadata={
            "description": "Until then the owner can decide; once granted, until then the token "
            "can be fetched."
        },
    )

    @post_dump
    def _omit_unset(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        if data["grantedScopes"] is None:
            del data["grantedScopes"]
        return data
