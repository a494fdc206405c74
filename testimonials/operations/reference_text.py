"""The API reference as Markdown: for agents, and for `scripts/docs`."""

from collections.abc import Iterator
from typing import Any

from testimonials.operations.reference import (
    Answer,
    Document,
    describe_operations,
    describe_rules,
    describe_schemas,
    describe_shared,
    find_common_answers,
)


def write_reference(document: Document, base_url: str) -> str:
    """Return the reference that is made from an OpenAPI document."""
    parts = [document["info"]["description"], f"All paths start at `{base_url}`."]
    operations = describe_operations(document, base_url)
    common = find_common_answers(operations)
    parts += ["## Statuses", write_table(["Status", "Meaning"], [list(each) for each in common])]
    for operation in operations:
        parts += list(_write_operation(operation, common))
    parts += [
        "## Headers and parameters",
        write_table(["Name", "In the", "Meaning"], _list_shared(document)),
        "## Error codes",
        write_table(["Code", "Status", "Meaning", "What to do"], _list_codes(document)),
    ]
    shapes = {each["name"]: each["fields"] for each in describe_schemas(document)}
    closed = {
        name
        for name, schema in document["components"]["schemas"].items()
        if schema.get("additionalProperties") is False
    }
    whole = {operation["body"]["name"] for operation in operations if operation["body"]}
    for heading, names in (
        ("Parts of bodies", closed - whole),
        ("Shapes of answers", shapes.keys() - closed),
    ):
        parts.append(f"## {heading}")
        for name in sorted(names):
            parts += [f"### {name}", _fields(shapes[name])]
    return "\n\n".join(part for part in parts if part)


def _list_shared(document: Document) -> list[list[str]]:
    found = describe_shared(document)
    return [[f"`{each['name']}`", each["sent"], each["description"]] for each in found]


def _list_codes(document: Document) -> list[list[str]]:
    codes = document["x-error-codes"].items()
    return [
        [f"`{code}`", str(each["status"]), each["meaning"], each["remedy"]] for code, each in codes
    ]


def _write_operation(operation: dict[str, Any], common: list[Answer]) -> Iterator[str]:
    yield f"## {operation['summary']}"
    yield f"`{operation['method']} {operation['path']}`"
    yield operation["description"]
    if operation["parameters"]:
        rows = [
            [
                f"`{item['name']}`",
                item["in"],
                item["schema"]["type"],
                _rules(describe_rules(item["schema"]), item["required"]),
                item.get("description", ""),
            ]
            for item in operation["parameters"]
        ]
        yield write_table(["Parameter", "In", "Type", "Rules", "Meaning"], rows)
    if operation["body"]:
        yield _fields(operation["body"]["fields"])
    answers = operation["answers"]
    usual = ", ".join(status for status, meaning in answers if (status, meaning) in common)
    own = [f"{status}: {meaning}" for status, meaning in answers if (status, meaning) not in common]
    yield " ".join([f"Answers {usual}.", *own])
    yield f"```sh\n{operation['curl']}\n```"


def _fields(fields: list[dict[str, Any]]) -> str:
    rows = [
        [
            f"`{field['name']}`",
            field["type"],
            _rules(field["rules"], field["required"]),
            field["description"],
        ]
        for field in fields
    ]
    return write_table(["Field", "Type", "Rules", "Meaning"], rows)


def _rules(rules: str, is_required: bool) -> str:
    return "; ".join(part for part in ("required" if is_required else "", rules) if part)


def write_table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |"
        for line in lines
    )
