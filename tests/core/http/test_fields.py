"""The strict fields (decisions, "Envelope and errors"), in JSON and in forms of HTML pages."""

import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from marshmallow import ValidationError
from werkzeug.datastructures import MultiDict

from testimonials.auth.email_addresses import Email
from testimonials.core.http.fields import (
    Amount,
    Choice,
    Count,
    OneLine,
    QueryCount,
    StrictSchema,
    Switch,
    Text,
    WebUrl,
)
from testimonials.core.http.forms import FormSchema, SentForm
from tests.support.sampling import rounds

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


class Everything(StrictSchema):
    """One field of each kind."""

    text = Text(10)
    line = OneLine(10, blank=False)
    url = WebUrl(40)
    choice = Choice("light", "dark")
    switch = Switch()
    amount = Amount(1, 5)
    count = Count(3, 50)
    query = QueryCount(1)


def load(**payload: Any) -> dict[str, Any]:
    return Everything().check(payload)


def problems(**payload: Any) -> dict[str, list[str]]:
    with pytest.raises(ValidationError) as caught:
        Everything().check(payload)
    return caught.value.messages_dict


@settings(max_examples=rounds(40, 100))
@given(
    st.dictionaries(
        st.sampled_from([*Everything().fields, "other", ""]) | st.text(max_size=5), JSON
    )
)
def test_whatever_is_sent_is_loaded_or_refused_with_messages(payload):
    # A query string holds nothing but strings.
    payload = {
        name: value for name, value in payload.items() if name != "query" or isinstance(value, str)
    }
    refused: dict[str, Any] = {}
    loaded: dict[str, Any] = {}
    try:
        loaded = Everything().check(payload)
    except ValidationError as error:
        refused = error.messages_dict
    assert set(refused or loaded) <= set(payload)
    assert refused or set(loaded) == set(payload)
    for messages in refused.values():
        assert messages
        assert all(isinstance(message, str) and message for message in messages)


@pytest.mark.parametrize("name", ["text", "line", "url", "choice", "switch", "amount", "count"])
def test_null_is_not_a_way_to_leave_a_field_out(name):
    (message,) = problems(**{name: None})[name]
    assert message.startswith("null is not allowed. Leave the field out instead.")


@given(st.text(max_size=15))
def test_a_text_is_trimmed_and_counted_in_code_points(text):
    is_clean = not any(ord(letter) < 32 and letter not in "\t\n" for letter in text)
    if is_clean and len(text.strip()) <= 10:
        assert load(text=text) == {"text": text.strip()}
    else:
        assert "text" in problems(text=text)


@given(st.text(max_size=15))
@example("a\u2028b")
@example("a\x85b")
def test_a_line_that_is_taken_has_no_line_break_and_is_not_blank(text):
    try:
        loaded = load(line=text)["line"]
    except ValidationError:
        return
    assert loaded == text.strip()
    assert 1 <= len(loaded) <= 10
    assert len(loaded.splitlines()) == 1


@pytest.mark.parametrize(
    "value", [0, 5.1, -1, 0.999, "5", True, [5], 10**400, -(10**400), math.inf]
)
def test_an_amount_out_of_range_or_of_another_type_is_refused(value):
    assert problems(amount=value) == {"amount": ["Must be a number from 1 to 5."]}
    assert load(amount=4.3) == {"amount": 4.3}


@given(st.integers(3, 50))
def test_a_count_is_a_whole_number(number):
    loaded = load(count=number)["count"]
    assert (loaded, type(loaded)) == (number, int)
    # JSON has one kind of number: 5.0 is 5.
    assert type(load(count=float(number))["count"]) is int


@pytest.mark.parametrize("value", [2, 51, 3.5, "5", True, False, [], 10**400, math.inf])
def test_a_count_out_of_range_or_of_another_type_is_refused(value):
    assert problems(count=value) == {"count": ["Must be a whole number from 3 to 50."]}


@pytest.mark.parametrize("value", ["0", "-1", "+1", "1.0", " 1", "1_0", "", "x", "١", "1\n"])
def test_a_number_in_a_query_is_digits_alone(value):
    assert problems(query=value) == {"query": ["Must be a whole number, 1 or more."]}
    assert load(query="9" * 5000)["query"] == int("9" * 4000)


@given(JSON)
def test_a_switch_is_true_or_false_alone(value):
    if isinstance(value, bool):
        assert load(switch=value) == {"switch": value}
    else:
        assert "true or false" in problems(switch=value)["switch"][0]


@given(JSON | st.sampled_from(["Light", " light", "light\n", "none"]))
def test_a_choice_is_one_of_its_words_alone(value):
    if value in ("light", "dark"):
        assert load(choice=value) == {"choice": value}
    else:
        assert "Must be one of: light, dark." in problems(choice=value)["choice"][0]


@pytest.mark.parametrize(
    "value",
    ["", "example.com", "//example.com/a", "ftp://example.com", "data:image/png;base64,AAAA",
     "javascript:alert(1)", "https://a b/", "https://u:p@a.example/", "/a.png", "https:///a.png",
     'https://a.example/"b', "https://a.example/<b>", "http://a:99999/x",
     "https://a.example\\@b.example", "HTTPS:a.example"],
)  # fmt: skip
def test_a_url_is_absolute_and_http(value):
    assert "http://" in problems(url=value)["url"][0]


@pytest.mark.parametrize("value", ["https://a.example/p.png?x=1#y", "HTTP://A.example:80/é"])
def test_a_url_is_kept_as_it_was_sent(value):
    assert load(url=f" {value}\n") == {"url": value}


class Form(FormSchema):
    """One field of each kind."""

    name = OneLine(10, required=True, error_messages={"required": "Add your name."})
    text = Text(5, attribute="words", load_default="")
    url = WebUrl(40)
    theme = Choice("light", "dark", load_default="light")
    is_shown = Switch(load_default=False)
    rating = Amount(1, 5)
    count = Count(3, 50)
    email = Email()


def read(*, is_partial: bool = False, **form: str) -> SentForm:
    return Form().read(form, is_partial=is_partial)


def test_empty_fields_are_missing_ones_and_a_partial_form_has_what_was_sent():
    sent = read(name=" Ada ", text=" \r\n ", rating="")
    assert sent.errors == {}
    assert sent.values == {
        "name": "Ada", "words": "", "url": None, "theme": "light", "is_shown": False,
        "rating": None, "count": None, "email": None,
    }  # fmt: skip
    assert read(name=" ").errors == {"name": ["Add your name."]}
    assert read(is_partial=True, text="").values == {"words": ""}
    # A switch sends "false" and, when it is on, "true" after it.
    switch = MultiDict([("is_shown", "false"), ("is_shown", "true")])
    assert Form().read(switch, is_partial=True).values == {"is_shown": True}
    assert read(is_partial=True, is_shown="false").values == {"is_shown": False}


def test_texts_become_values_of_their_fields(app):
    with app.app_context():
        sent = read(
            name="Ada", text="a\r\nb\rc", rating="4.5", count="7", is_shown="on", theme="dark",
            email="ADA@Example.com", url="https://a.example",
        )  # fmt: skip
    assert sent.values == {
        "name": "Ada", "words": "a\nb\nc", "url": "https://a.example", "theme": "dark",
        "is_shown": True, "rating": 4.5, "count": 7, "email": "ada@example.com",
    }  # fmt: skip


def test_what_is_wrong_is_said_to_a_person_and_nothing_typed_is_lost(app):
    wrong = {
        "name": "A\nB", "text": "123456", "url": "a", "theme": "pink", "rating": "nan",
        "count": "many", "email": "ada@mailinator.com", "other": "passed over",
    }  # fmt: skip
    with app.app_context():
        sent = Form().read(wrong)
    assert sent.errors == {
        "name": ["Use a single line."], "text": ["Shorten this to 5 characters; it has 6."],
        "url": ["Enter the full address, such as https://example.com."],
        "theme": ["Choose one of the options."], "rating": ["Must be a number from 1 to 5."],
        "count": ["Must be a whole number from 3 to 50."],
        "email": ["Use a permanent email address. This domain provides disposable ones."],
    }  # fmt: skip
    assert sent.typed == {"is_shown": ""} | {k: v for k, v in wrong.items() if k != "other"}
    assert read(name="\x07").errors == {"name": ["Remove the control characters."]}
    assert read(name="A", email="ada").errors == {
        "email": ["Enter an email address like name@example.com."]
    }
