"""Shapes of requests and answers about accounts."""

from marshmallow import Schema, fields

from testimonials.core.web.fields import StrictSchema, Text


class AgentInitSchema(StrictSchema):
    """The body of agent-init."""

    email = Text(254, one_line=True, blank=False, required=True, metadata={"format": "email"})


class AgentInitAnswerSchema(Schema):
    """What agent-init gives: the first four fields, or the last two for a claimed account."""

    accountId = fields.String(metadata={"description": "Send as x-service-account-id."})  # noqa: N815
    apiKey = fields.String(metadata={"description": "Send as x-api-key. Shown only here."})  # noqa: N815
    claimRequired = fields.Boolean(required=True)  # noqa: N815
    expiresInDays = fields.Float(metadata={"description": "Days in which the owner must claim."})  # noqa: N815
    accountExists = fields.Boolean()  # noqa: N815
    message = fields.String()


class AccountSchema(Schema):
    """An account as the API shows it."""

    accountId = fields.String(attribute="id", required=True)  # noqa: N815
    email = fields.String(required=True)
