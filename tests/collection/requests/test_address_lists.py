"""Reading lists of people: what is pasted, and what table programs write."""

import csv
import io

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st

from testimonials import create_app
from testimonials.collection.address_lists import (
    DISPOSABLE,
    MAX_FILE_BYTES,
    MAX_PEOPLE,
    NO_ADDRESS,
    AddressList,
    read_csv,
    read_pasted,
    write_table,
)
from testimonials.core.csv_rows import TableUnreadable
from testimonials.core.settings.table import load_settings


@pytest.fixture(scope="module", autouse=True)
def settings(tmp_path_factory: pytest.TempPathFactory) -> object:
    """Which addresses are disposable depends on the settings."""
    folder = tmp_path_factory.mktemp("lists")
    app: Flask = create_app(load_settings({}, {"instance_path": str(folder)}))
    with app.app_context():
        yield app


def people(found: AddressList) -> list[tuple[str, str, str]]:
    return [(each.email, each.name, each.company) for each in found.people]


def wrong(found: AddressList) -> list[tuple[int, str, str]]:
    return [(each.line, each.text, each.reason) for each in found.wrong]


PASTED = (
    ("a@example.com", [("a@example.com", "", "")]),
    ("a@example.com, b@example.com", [("a@example.com", "", ""), ("b@example.com", "", "")]),
    ("a@example.com;b@example.com;", [("a@example.com", "", ""), ("b@example.com", "", "")]),
    ("\r\n\r\n a@example.com \r\n,,\r\n", [("a@example.com", "", "")]),
    ("Noor Haddad <NOOR@Example.com>", [("noor@example.com", "Noor Haddad", "")]),
    ('"Haddad, Noor" <n@example.com>', [("n@example.com", "Haddad, Noor", "")]),
    (
        "Zoë Q a@example.com, b@example.com B",
        [("a@example.com", "Zoë Q", ""), ("b@example.com", "B", "")],
    ),
    ("a@example.com b@example.com", [("a@example.com", "", ""), ("b@example.com", "", "")]),
    ("Noor Haddad\ta@example.com\n", [("a@example.com", "Noor Haddad", "")]),
    ("a@example.com,\tb@example.com", [("a@example.com", "", ""), ("b@example.com", "", "")]),
    ("Noor\t<a@example.com>", [("a@example.com", "Noor", "")]),
    ("<a@example.com>", [("a@example.com", "", "")]),
    ("ليلى <l@example.com>", [("l@example.com", "ليلى", "")]),
    ("jörg@bücher.example", [("jörg@bücher.example", "", "")]),
    ("email,name\na@example.com,Noor", [("a@example.com", "Noor", "")]),
    ("email\tcompany\na@example.com\tKiln", [("a@example.com", "", "Kiln")]),
    ("", []),
)
UNUSABLE = (
    ("a@example.com\nfoo bar", [(2, "foo bar", NO_ADDRESS)]),
    ("foo@", [(1, "foo@", NO_ADDRESS)]),
    ("a@example.com, foo@", [(1, "a@example.com, foo@", NO_ADDRESS)]),
    ("Haddad, Noor <n@example.com>", [(1, "Haddad", NO_ADDRESS)]),
    ("a@@example.com", [(1, "a@@example.com", NO_ADDRESS)]),
    ("x@mailinator.com", [(1, "x@mailinator.com", DISPOSABLE)]),
    (
        f"{'n' * 121} <a@example.com>",
        [(1, "n" * 79 + "…", "Name: Shorten this to 120 characters; it has 121.")],
    ),
    ("a\0b\x1b", [(1, "a\ufffdb\ufffd", NO_ADDRESS)]),
)
FILES = (
    ("email,name,company\na@example.com,Noor,Kiln", ("a@example.com", "Noor", "Kiln")),
    ("E-Mail;Name;Firma\r\na@example.com;Noor;Kiln\r\n", ("a@example.com", "Noor", "Kiln")),
    ("\ufeffEmail Address,Full name\na@example.com,Noor", ("a@example.com", "Noor", "")),
    ("Company,Phone,E-MAIL\nKiln,1,a@example.com", ("a@example.com", "", "Kiln")),
    (
        "First name,Last name,Email\nNoor,Haddad,a@example.com",
        ("a@example.com", "Noor Haddad", ""),
    ),
    ("a@example.com,Noor,Kiln", ("a@example.com", "Noor", "Kiln")),
    ("Noor,a@example.com", ("a@example.com", "Noor", "")),
    ("a@example.com,b@example.com,Noor", ("a@example.com", "Noor", "")),
    ('email;name\na@example.com;"Kiln; ""Clay"""', ("a@example.com", 'Kiln; "Clay"', "")),
    ("\n\nemail\n\na@example.com\n,,\n", ("a@example.com", "", "")),
    ("email,name\na@example.com", ("a@example.com", "", "")),
    ("email\ra@example.com\r", ("a@example.com", "", "")),
)


def test_pasted_addresses_and_files_of_table_programs():
    for text, expected in PASTED:
        found = read_pasted(text)
        assert (people(found), wrong(found)) == (expected, []), text
    for text, lines in UNUSABLE:
        assert wrong(read_pasted(text)) == lines
    for content, person in FILES:
        found = read_csv(content.encode())
        assert (people(found), wrong(found)) == ([person], []), content
    content = 'email,name\n"a@example.com","two\nlines"\n\nbad,Noor\n'
    assert wrong(read_csv(content.encode())) == [
        (2, "two lines a@example.com", "Name: Use a single line."),
        (5, "Noor bad", NO_ADDRESS),
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"name,company\nNoor,Kiln", "No column has email addresses"),
        ("email\nj\xf6rg@example.com".encode("latin-1"), "UTF-8"),
        ("email\na@example.com".encode("utf-16"), "UTF-8"),
        (b"x" * (MAX_FILE_BYTES + 1), "too large"),
        (b"email\n" + b"a@example.com\n" * (MAX_PEOPLE + 1), "at most 500"),
        (b'email,name\na@example.com,"' + b"x" * 140_000, "a quote may not be closed"),
    ],
)
def test_files_that_cannot_be_read_are_refused_with_the_reason(content, reason):
    with pytest.raises(TableUnreadable, match=reason):
        read_csv(content)


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), max_size=20))
def test_a_table_that_is_written_is_read_back(cells):
    """What a preview carries on is what it showed."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["email", "name", "company"])
    for number, (name, company) in enumerate(cells):
        writer.writerow([f"a{number}@example.com", name, company])
    found = read_csv(out.getvalue().encode("utf-8", "replace"))
    # A browser sends line breaks as CR LF.
    again = read_pasted(write_table(found.people).replace("\n", "\r\n"))
    assert (people(again), again.wrong) == (people(found), [])
