"""JSON of megabytes, read so that other threads get their turn."""

import json
import json.scanner
from typing import Any

# The usual parser reads so much in a few milliseconds, during which nothing else runs.
SHORT = 64 * 1024
# On average a long text has so many characters for each list or object, and for each value: of
# smaller ones, millions would have to be kept, and looked through whenever memory is tidied.
LEAST_PART, LEAST_VALUE = 16, 8


class _Patient(json.JSONDecoder):
    """The same parser, but for strings in Python: between any two values others may work."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.scan_once = vars(json.scanner)["py_make_scanner"](self)


def load_json(text: str, **options: Any) -> Any:
    """Return what `json.loads` returns; raise `ValueError` and `RecursionError`."""
    if len(text) <= SHORT:
        return json.loads(text, **options)
    if (text.count("[") + text.count("{")) * LEAST_PART > len(text):
        raise ValueError("too many lists and objects for so little text")
    if text.count(",") * LEAST_VALUE > len(text):
        raise ValueError("too many values for so little text")
    return json.loads(text, cls=_Patient, **options)
