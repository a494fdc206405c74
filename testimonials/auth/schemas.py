"""The schemas of requests, responses and forms about accounts."""

from typing import Any

from marshmallow import Schema, ValidationError, fields, post_dump, validates

from testimonials.auth.email_addresses import Email, SignupClosed, require_open_signup
from testimonials.core.http.fields import Choice, List, OneLine, StrictSchema, String, Time
from testimonials.core.http.forms import FormSchema, Secret
from testimonials.core.http.security import safe_target


class AgentInitSchema(StrictSchema):
    email = OneLine(254, blank=False, required=True, metadata={"format": "email"})


class SignUpSchema(Schema):
    """The first four fields, or for a claimed account the last two and ``claimRequired``."""

    accountId = String(description="Send as x-service-account-id.")
    apiKey = String(description="Send as x-api-key. Shown only here.")
    claimRequired = fields.Boolean(required=True)
    # Raw, so that whole numbers are written without ".0".
    expiresInDays = fields.Raw(
        metadata={
            "type": "number",
            "description": "Days within which the owner must claim the account.",
        }
    )
    accountExists = fields.Boolean()
    message = String()


class AccountSchema(Schema):
    accountId = String(attribute="id", required=True)
    email = String(required=True)
    credential = Choice("key", "token", required=True)
    # The rest only for tokens.
    name = String(description="The access token's name.")
    scopes = List(String(), description="What the token may do.")
    projectId = String(
        attribute="project_id",
        allow_none=True,
        description="The only project that the token reaches; null: all.",
    )
    expiresAt = Time(
        attribute="expires_at", allow_none=True, description="When the token ends; null: never."
    )

    @post_dump
    def _omit_token_fields(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        of_key = ("accountId", "email", "credential")
        return {name: data[name] for name in of_key} if data["credential"] == "key" else data


class NewLinkForm(FormSchema):
    email = Email(required=True)


class SignupForm(NewLinkForm):
    @validates("email")
    def check_signup(self, email: str, data_key: str) -> None:
        """Refuse known addresses too, so that the answer doesn't reveal who has an account."""
        try:
            require_open_signup(email)
        except SignupClosed as error:
            raise ValidationError((error.errors or {})[data_key]) from None


class ForgotForm(FormSchema):
    """Accepts disposable addresses too, since a domain may be listed after somebody signed up."""

    email = Email(is_lasting=False, required=True)


class Target(fields.String):
    """The path of the next page, or "" if it could lead to another site."""

    def __init__(self) -> None:
        super().__init__(load_default="")

    def _deserialize(self, value: str, *_: Any, **__: Any) -> str:
        return safe_target(value)


class GoOnForm(FormSchema):
    """Where to go after signing in, and the draft of an interrupted form."""

    next = Target()
    draft = fields.String(load_default="")


class LoginForm(FormSchema):
    email = fields.String(load_default="")
    password = Secret()


class PasskeyAnswerForm(FormSchema):
    passkey_token = fields.String(load_default="")
    passkey = fields.String(load_default="")


class StepForm(GoOnForm):
    step = fields.String(load_default="")
    code = Secret()
    trust = fields.String()
    # The kind of code that the page asked for, and the kind that it should ask for instead.
    kind = fields.String()
    show = fields.String()


class ResetForm(FormSchema):
    password = Secret()
    code = Secret()
    replace_key = fields.String()
