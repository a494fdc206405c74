"""Every kind of mail, found in the code: what answers somebody's own act, and what can be ended."""

import ast
import importlib
from collections.abc import Iterator
from dataclasses import dataclass

from tests.contracts.test_architecture import PACKAGE, modules

# Each answers what its reader did, or tells of their own account; ending them would do harm.
ANSWERS = {
    "claim": "An agent asked for an account in the reader's name; without the link it ends itself.",
    "signup": "The reader asked for an account.",
    "account-exists": "The reader asked for an account.",
    "reset": "The reader asked for a new password.",
    "email-change": "The reader asked to use this address.",
    "address-changed": "The reader's own account was changed.",
    "suspended": "The reader's own account was changed.",
    "restored": "The reader's own account was changed.",
    "security": "The reader's own account was changed.",
    "ownership-offer": "The owner of a project that the reader is an admin of asks them; once.",
    "ownership-taken": "The reader handed their own project over.",
    "webhook-stopped": "The reader's own endpoint was switched off, once.",
    "author-link": "The reader sent a testimonial; the mail itself can say that it wasn't them.",
    "test": "The operator asked for it.",
    "backup-failed": "The operator named this address in the settings.",
    "backup-copy-failed": "The operator named this address in the settings.",
    "backup-copy-works": "The operator named this address in the settings.",
    "backup-works": "The operator named this address in the settings.",
}
# Each comes because somebody else did something, or again and again.
ENDABLE = {"flood", "proposals", "submissions", "invitation", "invitation-reminder"}


@dataclass(frozen=True)
class Kind:
    """A purpose, and whether the mail that is built there can be ended in one click."""

    purpose: str
    can_be_ended: bool


def find_kinds() -> Iterator[Kind]:
    for module in modules().values():
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            keywords = {keyword.arg: keyword.value for keyword in node.keywords}
            if node.func.id == "OutboxMail":
                purpose, can_be_ended = keywords["purpose"], "list_unsubscribe" in keywords
            elif node.func.id in ("send_plain_mail", "_put_into_outbox"):
                purpose, can_be_ended = node.args[1], "list_unsubscribe" in keywords
            else:
                continue
            for text in texts_of(purpose, f"{PACKAGE}.{module.name}"):
                yield Kind(text, can_be_ended)


def texts_of(node: ast.AST, module: str) -> Iterator[str]:
    """Return every text that an expression may have; of a parameter its callers give it."""
    if isinstance(node, ast.IfExp):
        yield from texts_of(node.body, module)
        yield from texts_of(node.orelse, module)
    elif isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.Name) and node.id != "purpose":
        yield getattr(importlib.import_module(module), node.id)


def test_every_kind_of_mail_is_known_and_can_be_ended_where_nobody_asked_for_it() -> None:
    kinds = set(find_kinds())
    assert {kind.purpose for kind in kinds} == ANSWERS.keys() | ENDABLE
    assert {kind.purpose for kind in kinds if kind.can_be_ended} == ENDABLE
    assert {kind.purpose for kind in kinds if not kind.can_be_ended} == set(ANSWERS)
