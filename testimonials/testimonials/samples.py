"""The six samples of an account's first project, in six voices (decisions, "Projects")."""

from dataclasses import dataclass

FALLBACK_NAME = "your product"


@dataclass(frozen=True)
class Demo:
    """One sample; ``{name}`` in its text stands for the business."""

    author_name: str
    author_role: str
    author_company: str | None
    text: str
    rating: float


# Newest first, as the widget shows them: lengths differ so that every layout can be judged.
DEMOS = (
    Demo(
        "Maya Kowalski",
        "Owner",
        "Kiln & Clay Studio",
        "I put off changing for a year because I dreaded the move. It took one quiet afternoon. "
        "Since then {name} has simply been part of how we work, and nobody on the team has asked "
        "me where anything is.",
        5,
    ),
    Demo(
        "Tom Okafor",
        "Operations lead",
        "Northgate Cycles",
        "Short version: {name} does what it says, and it does it on time.",
        4.5,
    ),
    Demo(
        "Lucía Fernández",
        "Teacher",
        "Escuela del Puerto",
        "What I noticed first was the people. Somebody at {name} read my question to the end, "
        "answered that question instead of another one, and came back a week later to ask whether "
        "it had helped. It had.",
        5,
    ),
    Demo(
        "Henrik Sandberg",
        "Founder",
        "Fjordlys Design",
        "We compared four options in a spreadsheet with far too many columns. In the end {name} "
        "wasn’t the cheapest. It was the only one we were still glad about after three months.",
        4.5,
    ),
    Demo(
        "Aiko Tanaka",
        "Event planner",
        None,
        "My clients notice the details, so I do too. With {name} I have stopped checking twice.",
        5,
    ),
    Demo(
        "Dana Levitt",
        "Finance manager",
        "Alder Street Clinic",
        "I’m hard to please and I say so. Two small things could be smoother, and I told them "
        "both. One was fixed within the month. That is why I keep recommending {name}.",
        4,
    ),
)
