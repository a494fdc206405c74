"""Forms of HTML pages: texts, checked by the fields that the API's bodies have."""

from flask import Flask
from werkzeug.datastructures import MultiDict

from testimonials.auth.addresses import Email
from testimonials.core.web.fields import Amount, Choice, Count, Switch, Text, WebUrl
from testimonials.core.web.forms import FormSchema, SentForm


class Everything(FormSchema):
    """One field of each kind."""

    name = Text(10, one_line=True, required=True, error_messages={"required": "Add your name."})
    text = Text(5, attribute="words", load_default="")
    url = WebUrl(40)
    theme = Choice("light", "dark", load_default="light")
    is_shown = Switch(load_default=False)
    rating = Amount(1, 5)
    count = Count(3, 50)
    email = Email()


def read(*, is_partial: bool = False, **form: str) -> SentForm:
    return Everything().read(form, is_partial=is_partial)


def test_empty_fields_are_missing_ones() -> None:
    sent = read(name=" Ada ", text=" \r\n ", rating="")
    assert sent.errors == {}
    assert sent.values == {
        "name": "Ada", "words": "", "url": None, "theme": "light", "is_shown": False,
        "rating": None, "count": None, "email": None,
    }  # fmt: skip
    assert read(name=" ").errors == {"name": ["Add your name."]}


def test_texts_become_values_of_their_fields(app: Flask) -> None:
    with app.app_context():
        sent = read(
            name="Ada", text="a\r\nb\rc", rating="4.5", count="7", is_shown="on", theme="dark",
            email="ADA@Example.com", url="https://a.example",
        )  # fmt: skip
    assert sent.values == {
        "name": "Ada", "words": "a\nb\nc", "url": "https://a.example", "theme": "dark",
        "is_shown": True, "rating": 4.5, "count": 7, "email": "ada@example.com",
    }  # fmt: skip


def test_what_is_wrong_is_said_to_a_person_and_nothing_typed_is_lost(app: Flask) -> None:
    wrong = {
        "name": "A\nB", "text": "123456", "url": "a", "theme": "pink", "rating": "nan",
        "count": "many", "email": "ada@mailinator.com", "other": "passed over",
    }  # fmt: skip
    with app.app_context():
        sent = Everything().read(wrong)
    assert sent.errors == {
        "name": ["Write this on one line."],
        "text": ["Shorten this to 5 characters; it has 6."],
        "url": ["Write the whole address, such as https://example.com."],
        "theme": ["Choose one of the options."],
        "rating": ["Must be a number from 1 to 5."],
        "count": ["Must be a whole number from 3 to 50."],
        "email": ["Use a permanent address; this domain provides disposable ones."],
    }
    assert sent.typed == {"is_shown": ""} | {k: v for k, v in wrong.items() if k != "other"}
    assert read(name="\x07").errors == {"name": ["Remove the control characters from this."]}
    assert read(name="A", email="ada").errors == {
        "email": ["Write the address like name@example.com."]
    }


def test_a_partial_form_leaves_out_what_was_not_sent() -> None:
    assert read(is_partial=True, text="").values == {"words": ""}
    # A switch sends "false" and, when it is on, "true" after it.
    switch = MultiDict([("is_shown", "false"), ("is_shown", "true")])
    assert Everything().read(switch, is_partial=True).values == {"is_shown": True}
    assert read(is_partial=True, is_shown="false").values == {"is_shown": False}
