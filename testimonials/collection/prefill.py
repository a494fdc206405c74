"""Links that fill in what the sender knows already, such as ``?name=Aiko&rating=5``."""

from collections.abc import Mapping

from testimonials.collection.schemas import LINES, read_form


def read_prefill(query: Mapping[str, str], collect: Mapping[str, bool]) -> dict[str, str]:
    """Return what an address fills in: name, email, role, company and rating, where they are asked.

    What a visitor could not send is left out without a word, since it is not theirs. The text and
    the consent are never filled in.
    """
    typed, errors = read_form(query, collect)
    return {
        name: value
        for name in (*LINES, "email", "rating")
        if (value := typed.get(name, "")) and name not in errors
    }
