"""Work that strangers can ask for: it grows no faster than what they send.

Costs are processor time of this thread, compared with each other and never with a clock.
"""

import ast
import importlib
import itertools
import json
import logging
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import testimonials
from testimonials.collection.address_lists import read_csv, read_pasted
from testimonials.core.csv_rows import TableUnreadable
from testimonials.core.logs import JsonFormatter, clean_event

# Four times as much costs four times as much; sixteen times is a square.
MOST_GROWTH = 9.0
# They are read from files of ours alone.
OWN_FILES = {"testimonials.widget.render"}


def cost(work: Callable[[], object]) -> float:
    """Return the processor time of this thread that something takes."""
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


def grows_too_fast(work: Callable[[int], object], size: int, floor: float) -> bool:
    """Tell whether a size costs much more than a quarter of it, and more than `floor` at all."""
    if cost(lambda: work(size)) <= floor:
        return False
    # Whatever else the machine does makes work look slower, never faster.
    quarter = min(cost(lambda: work(size // 4)) for _ in range(3))
    return min(cost(lambda: work(size)) for _ in range(2)) > max(floor, MOST_GROWTH * quarter)


def find_patterns() -> Iterator[tuple[re.Pattern[Any], str]]:
    """Return every pattern that a module of ours keeps, by its name."""
    for module in pkgutil.walk_packages(testimonials.__path__, "testimonials."):
        if ".migrations." in module.name or module.name.endswith(("__main__", *OWN_FILES)):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            for row in value if isinstance(value, tuple) else (value,):
                for each in row if isinstance(row, tuple) else (row,):
                    if isinstance(each, re.Pattern):
                        yield each, f"{module.name}.{name}"


def find_inline_patterns() -> Iterator[tuple[re.Pattern[Any], str]]:
    """Return every pattern that is written where it is used."""
    for path in Path(testimonials.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="re"), attr=use),
                    args=[ast.Constant(value=str(text)), *_],
                ) if use != "compile":
                    yield re.compile(text), f"{path.stem}.{use}:{node.lineno}"


UNITS = [*'a1 .-@/:<([,"=\n_★', "a.", "a@", "-a", "a ", "1 ", "<a ", "://", " ,", "aaaaaaaa.aaaaa."]
ENDS = [("", ""), ("", "z"), ("", "\0"), ("://", "\0"), ("<a ", "z"), ("2024-01-01 ", "z")]


def find_uses(name: str, source: str) -> set[str]:
    use, is_inline, _ = name.rpartition(".")[2].partition(":")
    return {use} if is_inline else set(re.findall(rf"\b{use}\.([a-z]+)\(", source))


def find_slow(pattern: re.Pattern[Any], uses: set[str], floor: float) -> Iterator[str]:
    """Name each shape of text on which a pattern takes more than in proportion."""
    # One that is only compared with whole texts may look at each beginning anew elsewhere.
    is_searched = not uses or bool(uses - {"fullmatch", "match"})
    for (start, end), unit in itertools.product(ENDS, UNITS):

        def work(size: int, start: str = start, unit: str = unit, end: str = end) -> None:
            whole = start + unit * (size // len(unit)) + end
            text: Any = whole.encode() if isinstance(pattern.pattern, bytes) else whole
            pattern.fullmatch(text)
            if is_searched:
                pattern.subn(text[:0], text)

        if grows_too_fast(work, 2_000, floor):
            yield f"{start}{unit}…{end}"


def test_a_pattern_is_linear():
    patterns = dict(find_inline_patterns()) | dict(find_patterns())
    assert len(patterns) > 25
    # Python before 3.11.5 matches groups that give nothing back wrongly (gh-106052).
    wrong = re.compile(r"\)(?:[+*?]|\{[\d,]+\})\+")
    assert [name for each, name in patterns.items() if wrong.search(str(each.pattern))] == []
    source = "".join(path.read_text() for path in Path(testimonials.__path__[0]).rglob("*.py"))
    floor = 20 * cost(lambda: re.search("b", "a" * 100_000))
    slow = {
        name: found
        for pattern, name in patterns.items()
        if (found := list(find_slow(pattern, find_uses(name, source), floor)))
    }
    assert slow == {}


@pytest.mark.parametrize(
    "text", ["a" * 60_000, "/%EF%BF%BD" * 6_000, "a@a." * 15_000, "a\n" * 30_000]
)
def test_what_strangers_wrote_is_cut_before_it_is_scrubbed(text):
    def log(size: int) -> tuple[str, Any]:
        try:
            raise ValueError(text[:size])
        except ValueError as error:
            info = (ValueError, error, error.__traceback__)
        record = logging.LogRecord("x", logging.ERROR, "x", 1, "%s", (text[:size],), info)
        record.path = record.method = text[:size]
        event = clean_event({"message": text[:size], "extra": {"agent": text[:size]}}, {})
        return JsonFormatter().format(record), event

    line, event = log(len(text))
    found = json.loads(line)
    assert max(map(len, (found["path"], found["method"], event["message"]))) <= 310
    assert len(found["message"]) <= 1_010
    assert len(found["exception"]) < 10_000
    assert not grows_too_fast(lambda size: log(size), len(text), 20 * cost(lambda: log(1_000)))


def test_a_header_is_read_in_linear_time(client):
    names = ("Accept", "Accept-Language", "Content-Type", "Cookie", "Origin")
    units = (" ", "\t", ";", ",", "a,", "a=b;", "a;q=1,", '"', "-a")
    slow = []
    for name, unit in itertools.product(names, units):

        def send(size: int, name: str = name, unit: str = unit) -> None:
            value = f"x{unit * (size // len(unit))}x"
            client.post("/signup", headers={name: value})
            client.get("/v1/me", headers={name: value})

        send(10)
        if grows_too_fast(send, 20_000, 20 * cost(lambda send=send: send(100))):
            slow.append((name, unit))
    assert slow == []


@pytest.mark.parametrize("unit", ["@,", "<a@b.co>, ", "(", "a:", ",a"])
def test_a_list_of_people_is_read_in_linear_time(app, unit):
    def read(size: int) -> None:
        for reader in (read_pasted, lambda text: read_csv(text.encode())):
            with suppress(TableUnreadable):
                reader(f"a@b.co{unit * size}")

    with app.test_request_context():
        read(10)
        assert not grows_too_fast(read, 20_000, 20 * cost(lambda: read(100)))
