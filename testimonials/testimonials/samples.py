"""The six samples of an account's first project, with words for each trade and drawn faces."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from testimonials.core.http.urls import face_url
from testimonials.projects.brand import guess_trade

ROLE = "Sample customer"
# By the name of the face in static/img/faces.
PEOPLE = {
    "aiko": "Aiko Tanaka",
    "dana": "Dana Levitt",
    "grace": "Grace Adeyemi",
    "hannah": "Hannah Weir",
    "henrik": "Henrik Sandberg",
    "laila": "Laila Mansour",
    "lucia": "Lucía Ferrán",
    "noor": "Noor Haddad",
    "paul": "Paul Novák",
    "theo": "Theo Brandt",
    "tom": "Tom Okerele",
    "wren": "Wren Castellano",
}
_FACES = {name: face for face, name in PEOPLE.items()}


class Sample(NamedTuple):
    """A sample; ``{name}`` in its text stands for the business."""

    who: str
    rating: float
    text: str


_FILE = Path(__file__).with_name("samples.json")
# By trade, newest first, with different lengths, so that every layout can be judged.
SAMPLES = {
    trade: [Sample(*each) for each in listed]
    for trade, listed in json.loads(_FILE.read_text(encoding="utf-8")).items()
}


def write_samples(business_name: str, trade: str = "") -> list[dict[str, Any]]:
    """Return the columns of a business's samples, newest first; its name may suggest the trade."""
    return [
        {
            "author_name": PEOPLE[sample.who],
            "author_role": ROLE,
            "text": sample.text.replace("{name}", business_name or "your product"),
            "rating": sample.rating,
        }
        for sample in SAMPLES[trade or guess_trade(business_name)]
    ]


def find_face(author_name: str, author_role: str) -> str | None:
    """Return the URL of a sample's drawn face, or None if the sample was renamed."""
    face = _FACES.get(author_name) if author_role == ROLE else None
    return face and face_url(face)
