"""The lists of the page editor as its forms send them: prompts, questions and steps.

A form sends the whole of a list, and along with it what it showed (``before``), so that only what
somebody changed is written, not what a colleague changed meanwhile.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from string import ascii_lowercase, digits
from typing import Any

from werkzeug.datastructures import MultiDict

Item = dict[str, Any]
Form = MultiDict[str, str]

# More than any list may have, so that one with too many is refused as it was sent.
MOST_READ = 20


def new_id() -> str:
    return "".join(secrets.choice(ascii_lowercase + digits) for _ in range(8))


def read_prompts(form: Form) -> list[str]:
    return [text.strip() for text in form.getlist("prompt")[:MOST_READ] if text.strip()]


def read_questions(form: Form, known: Iterable[str]) -> list[Item]:
    """Return the questions as they stand in the form; new ones that are still empty are none."""
    ids = dict.fromkeys(form.getlist("question")[:MOST_READ])
    questions = [_read_question(form, each) for each in ids]
    known = set(known)
    return [
        each for each in questions if each["id"] in known or each["text"] or each.get("choices")
    ]


def _read_question(form: Form, id: str) -> Item:
    kind = form.get(f"{id}-kind", "text")
    question: Item = {
        "id": id,
        "kind": kind,
        "text": form.get(f"{id}-text", "").strip(),
        "isRequired": _is_on(form, f"{id}-isRequired"),
        "isPublic": _is_on(form, f"{id}-isPublic"),
    }
    if kind == "choice":
        typed = (text.strip() for text in form.getlist(f"{id}-choice")[:MOST_READ])
        question["choices"] = list(dict.fromkeys(filter(None, typed)))
        question["several"] = _is_on(form, f"{id}-several")
    if kind == "scale":
        question |= {end: form.get(f"{id}-{end}", "").strip() for end in ("low", "high")}
    return question


def read_steps(form: Form, known: Iterable[str]) -> list[Item]:
    ids = dict.fromkeys(form.getlist("step")[:MOST_READ])
    steps = [_read_step(form, each) for each in ids]
    known = set(known)
    return [each for each in steps if each["id"] in known or each["title"]]


def _read_step(form: Form, id: str) -> Item:
    kind = form.get(f"{id}-kind", "link")
    step: Item = {"id": id, "kind": kind}
    step |= {name: form.get(f"{id}-{name}", "").strip() for name in ("title", "text")}
    if kind == "code":
        return step | {
            "code": form.get(f"{id}-code", "").strip(),
            "until": form.get(f"{id}-until", "").strip() or None,
        }
    return step | {
        "url": form.get(f"{id}-url", "").strip(),
        "copies": _is_on(form, f"{id}-copies"),
    }


def _is_on(form: Form, name: str) -> bool:
    # A hidden field says "false" before the box, since browsers send nothing for one that is off.
    return form.getlist(name)[-1:] not in ([], ["false"])


def arrange(items: Sequence[Item], action: str) -> list[Item]:
    """Return the items after a button without a script: ``up ID``, ``down ID`` or ``delete ID``."""
    verb, _, id = action.partition(" ")
    place = next((number for number, each in enumerate(items) if each["id"] == id), None)
    moved = list(items)
    if place is None:
        return moved
    item = moved.pop(place)
    if verb != "delete":
        moved.insert(max(0, place + {"up": -1, "down": 1}.get(verb, 0)), item)
    return moved


def merge(stored: Sequence[Item], before: Sequence[Item], sent: Sequence[Item]) -> list[Item]:
    """Return the stored items with what `sent` changed of what the form showed before.

    What a colleague added, changed or deleted meanwhile stays so.
    """
    was = {each["id"]: each for each in before}
    now = {each["id"]: each for each in sent}
    merged = {each["id"]: each for each in stored if each["id"] in now or each["id"] not in was}
    for id, item in now.items():
        if id in merged:
            merged[id] = _change(merged[id], was.get(id, {}), item)
        elif id not in was:
            merged[id] = item
    if list(now) == [id for id in was if id in now]:
        return list(merged.values())
    order = {id: place for place, id in enumerate(now)}
    return sorted(merged.values(), key=lambda each: order.get(each["id"], len(order)))


def _change(stored: Item, was: Mapping[str, Any], sent: Item) -> Item:
    changed = {name: value for name, value in sent.items() if was.get(name) != value}
    if "choices" in changed and "translations" in stored:
        changed["translations"] = _realign(stored, changed["choices"])
    return dict(stored) | changed


def _realign(question: Item, new: Sequence[str]) -> dict[str, Any]:
    """Return the translations with each translated choice beside the choice that it translates."""
    old, translations = question["choices"], {}
    for language, words in question["translations"].items():
        spoken = [*words.get("choices", ()), *[""] * len(old)]
        known = dict(zip(old, spoken, strict=False))
        # As many as before: one that is unknown was reworded where it stands.
        by_place = spoken if len(new) == len(old) else [""] * len(new)
        choices = [known.get(text, by_place[place]) for place, text in enumerate(new)]
        translations[language] = words | {"choices": choices}
    return translations
