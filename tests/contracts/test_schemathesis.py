"""The running service against its own OpenAPI document, with data made from it by Schemathesis.

What the document calls valid is accepted, what it calls invalid is refused, and nothing answers in
a way that is not written there.
"""

import itertools
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from testimonials import create_app
from testimonials.core.http.openapi import build_openapi
from testimonials.core.settings.table import load_settings
from tests.support.process import Service, start_service
from tests.support.sampling import rounds

# Refusals that follow from what is stored, or from knowledge that no JSON Schema can hold: which
# slugs are taken or paths of the service, what can be written in ASCII, which domains are
# disposable, which parameters exclude each other, which ranges overlap, which days there
# are. Everything else that the document calls valid has to be accepted.
BEYOND_A_SCHEMA = {"SLUG_TAKEN", "SLUG_RESERVED", "EMAIL_DISPOSABLE", "EXTERNAL_ID_TWICE"}
BEYOND_IN_WORDS = (
    *("not both", "takes no reason", "Say why it is set aside"),
    *("in order and apart", "from 1990 until now"),
    # A draft may not be empty, and the same body may where it changes something at once.
    "Name at least one field to change",
    # What WebVTT is.
    *("WebVTT", "There is no cue", "A cue must"),
    # What only one kind of question or step needs, and which languages there are as keys.
    *(
        "2 to 8 different answers", "needs this", "needs a title", "the same id twice",
        "Must be one of: de, en, es",
    ),
)  # fmt: skip
# What is wrong with one of many stands in the answer, which is 200.
EACH_FOR_ITSELF = "/testimonials/bulk"
NO_LETTERS = "Must contain letters or digits"

# Made-up domains are mostly reserved or malformed ones, which the service knows and a format
# doesn't; what stands before the @ is as good for trying it.
schemathesis.openapi.format(
    "email",
    st.from_regex(r"[a-z0-9]([a-z0-9._+-]{0,20}[a-z0-9])?", fullmatch=True).map(
        lambda local: f"{local.replace('..', '.')}@example.com"
    ),
)


def load_api() -> Any:
    """Read the document of an application that never opens its database."""
    with tempfile.TemporaryDirectory() as folder:
        document = build_openapi(create_app(load_settings({}, {"instance_path": folder})), "0")
    schema = schemathesis.openapi.from_dict(document)
    # It draws texts of exactly the greatest length while tests are collected, which takes a minute;
    # the boundaries have tests of their own.
    schema.config.phases.coverage.enabled = False
    return schema


@dataclass
class Running:
    """A service with one account and one project."""

    service: Service
    credentials: dict[str, str]
    project: str


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    # Its limits by address are met elsewhere; here each request comes from another one.
    limits = {"trusted_proxies": "1", "project_limit": "1000000"}
    service = start_service(tmp_path_factory.mktemp("schemathesis"), (), limits)
    credentials = service.sign_up("the-one-who-tests@example.com")
    project = service.call("POST", "/v1/projects", {}, credentials).data["_id"]
    yield Running(service, credentials, project)
    service.kill()


api = load_api()
# A body, a list with filters, a file and a change.
USUAL = ["create_testimonial", "list_submissions", "set_logo", "update_widget_config"]
addresses = (f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}" for n in itertools.count(1))
examples = partial(
    settings,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.process
@api.include(operation_id=USUAL).parametrize()
@examples(max_examples=rounds(20, 60))
def test_service_does_what_its_document_says(case, running):
    check(case, running)


@pytest.mark.process
@pytest.mark.thorough
@api.parametrize()
@examples(max_examples=rounds(20, 60))
def test_each_operation_does_what_is_documented(case, running):
    check(case, running)


def check(case: schemathesis.Case, running: Running) -> None:
    if "project_id" in case.path_parameters:
        # With a made-up id every call would end at a 404 before its body is looked at.
        case.path_parameters["project_id"] = running.project
    headers = {"X-Forwarded-For": next(addresses)}
    if not is_negative(case, ParameterLocation.HEADER):
        headers |= running.credentials
    answer = case.call(base_url=running.service.url, headers=headers)
    left_out = []
    if is_beyond_a_schema(answer):
        left_out.append(positive_data_acceptance)
    if is_valid_once_trimmed(case) or case.operation.path.endswith(EACH_FOR_ITSELF):
        left_out.append(negative_data_rejection)
    case.validate_response(answer, headers=headers, excluded_checks=left_out)


def is_negative(case: schemathesis.Case, location: ParameterLocation) -> bool:
    component = case.meta.components.get(location) if case.meta else None
    return component is not None and component.mode.is_negative


def is_beyond_a_schema(answer: schemathesis.Response) -> bool:
    """Tell whether a refusal is one that the document can't foretell."""
    if answer.status_code in (412, 422):
        return answer.json()["code"] in ("PRECONDITION_FAILED", "IDEMPOTENCY_KEY_REUSED")
    if answer.status_code != 400:
        return False
    body = answer.json()
    if any(words in body["message"] for words in BEYOND_IN_WORDS):
        return True
    if all(name.endswith("].submittedAt") for name in body.get("errors", {"": 0})):
        # There is no such day, or it isn't over.
        return True
    errors = body.get("errors", {})
    # A slug, or the name of a form.
    names = {each.rpartition(".")[2] for each in errors}
    has_none = names in ({"slug"}, {"name"}) and NO_LETTERS in str(errors)
    return body["code"] in BEYOND_A_SCHEMA or has_none


def is_valid_once_trimmed(case: schemathesis.Case) -> bool:
    """Tell whether a body is too long only by outer white space, which no keyword can leave out."""
    if not isinstance(case.body, dict):
        return False
    trimmed = {
        name: value.strip() if isinstance(value, str) else value
        for name, value in case.body.items()
    }
    definition = case.operation.definition.raw["requestBody"]["content"]["application/json"]
    schemas = {"components": api.raw_schema["components"]}
    is_valid = jsonschema_rs.Draft202012Validator(definition["schema"] | schemas).is_valid(trimmed)
    return trimmed != case.body and is_valid
