"""The six samples of an account's first project: for each trade its own words, and drawn faces."""

from dataclasses import dataclass
from typing import Any

from testimonials.core.http.urls import face_url
from testimonials.projects.brand import guess_trade

# What stands for a business without a name.
FALLBACK_NAME = "your product"
ROLE = "Sample customer"
# Whose faces are drawn in static/img/faces.
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


@dataclass(frozen=True)
class Sample:
    """Who says what; ``{name}`` stands for the business."""

    who: str
    rating: float
    text: str


# Newest first, as the widget shows them: lengths differ so that every layout can be judged.
SAMPLES = {
    "bakery": (
        Sample(
            "hannah",
            5,
            "The seeded loaf from {name} is the first thing my children eat without being asked. "
            "We walk past two other bakeries to get here.",
        ),
        Sample("tom", 5, "{name} remembers your order and your dog’s name."),
        Sample(
            "theo",
            5,
            "I came to {name} for the rye and stayed for the cardamom buns. My mornings start "
            "twenty minutes earlier now, on purpose.",
        ),
        Sample(
            "grace",
            4.5,
            "Open at six, when my night shift ends. The bread at {name} is still warm, and nobody "
            "minds that I’m in scrubs.",
        ),
        Sample(
            "aiko",
            5,
            "We serve bread from {name} in our café. Guests ask where it comes from every single "
            "day, and I have stopped pretending that it is a secret.",
        ),
        Sample(
            "dana",
            4,
            "Good bread, and a long queue on Saturdays. I go to {name} on Fridays now and have no "
            "complaints left.",
        ),
    ),
    "cafe": (
        Sample(
            "lucia",
            5,
            "I wrote half of my thesis at the window table of {name}. Nobody ever asked me to "
            "order again, so I always did.",
        ),
        Sample("paul", 5, "The flat white at {name} is the reason I take the earlier tram."),
        Sample(
            "noor",
            4.5,
            "{name} has oat milk that doesn’t split, a corner for the pram, and a cake without "
            "nuts that my daughter may eat. I had given up looking for all three in one place.",
        ),
        Sample(
            "henrik",
            5,
            "Best stop on the river route. At {name} they fill your bottle before you ask.",
        ),
        Sample(
            "wren",
            5,
            "They know how to make tea at {name}. You would be surprised how rare that is.",
        ),
        Sample(
            "dana",
            4,
            "It gets loud at noon. Come to {name} before eleven or after two, and it is the nicest "
            "room in town.",
        ),
    ),
    "salon": (
        Sample(
            "grace",
            5,
            "For years I left salons with a haircut that was somebody else’s idea. At {name} they "
            "asked what I do in the mornings, and cut it for that.",
        ),
        Sample("aiko", 5, "{name} got the fringe right on the first try."),
        Sample(
            "laila",
            5,
            "There is a quiet room for those of us who cover our hair, and {name} made no fuss "
            "about it. I brought my sisters the next month.",
        ),
        Sample("hannah", 4.5, "I fell asleep during the head massage. {name} let me."),
        Sample(
            "wren",
            5,
            "Six weeks later it still falls the way it did on the day. My colleagues keep asking "
            "where I go, and I keep saying {name}.",
        ),
        Sample(
            "dana",
            4,
            "Parking is hard, so leave early. Everything after the door of {name} is easy.",
        ),
    ),
    "shop": (
        Sample(
            "theo",
            5,
            "I described what I remembered of it, badly. {name} found it in the back, wrapped it, "
            "and wouldn’t let me pay for the paper.",
        ),
        Sample(
            "noor",
            5,
            "Ordered on Monday, here on Wednesday. {name} even wrote a note by hand.",
        ),
        Sample(
            "paul",
            4.5,
            "The zip broke after a year. {name} mended it while I waited, and told me how to keep "
            "it from happening again.",
        ),
        Sample(
            "lucia",
            5,
            "Everything I gave this winter came from {name}, and nobody asked for a receipt.",
        ),
        Sample(
            "tom",
            5,
            "You can ask {name} anything. The answer is sometimes that you don’t need it.",
        ),
        Sample(
            "dana",
            4,
            "Not the cheapest. But what I bought at {name} three years ago is in use every day, "
            "which I can’t say of the rest of the house.",
        ),
    ),
    "craft": (
        Sample(
            "henrik",
            5,
            "They came when they said, swept up, and explained the bill. I didn’t know one could "
            "have that. Next year {name} does the rest of the house.",
        ),
        Sample(
            "hannah",
            5,
            "{name} explained the two ways to do it, and recommended the cheaper one.",
        ),
        Sample(
            "tom",
            4.5,
            "The old door closes for the first time since my grandfather hung it. {name} took half "
            "a day and two cups of tea.",
        ),
        Sample("laila", 5, "We had four quotes. {name} was the only one who measured."),
        Sample(
            "paul",
            5,
            "It broke on a Sunday. {name} picked up on the second ring, told me what to switch "
            "off, and was there before the children were awake.",
        ),
        Sample(
            "dana",
            4,
            "It took a week longer than planned, and {name} told me before I had to ask. The work "
            "itself is faultless.",
        ),
    ),
    "coach": (
        Sample(
            "wren",
            5,
            "I came to {name} with a list of eleven goals. We crossed out nine, and I have kept "
            "the other two.",
        ),
        Sample("grace", 5, "{name} asks the question that you hoped nobody would ask."),
        Sample(
            "theo",
            4.5,
            "After ten weeks with {name} I speak in meetings without writing it down first. My "
            "team noticed before I did.",
        ),
        Sample(
            "noor",
            5,
            "What brought me here was better by March. I still go to {name}, because Tuesdays are "
            "better with it.",
        ),
        Sample(
            "lucia",
            5,
            "No slogans, no shouting. {name} looked at how I really live, changed three small "
            "things, and left the rest alone. It has been a year, and they have held.",
        ),
        Sample("dana", 4, "You have to do the homework. If you do, {name} is worth every hour."),
    ),
    "software": (
        Sample(
            "noor",
            5,
            "We moved to {name} on a quiet afternoon in April. Since then nobody on the team has "
            "asked me where anything is.",
        ),
        Sample("paul", 5, "{name} does what it says, and it does it on time."),
        Sample(
            "aiko",
            4.5,
            "I wrote at ten at night and expected a robot. Somebody from {name} read my question "
            "to the end, and answered that question instead of another one.",
        ),
        Sample(
            "henrik",
            5,
            "Setting up took an hour, of which forty minutes were lunch. {name} has run since "
            "without my thinking about it.",
        ),
        Sample(
            "laila",
            5,
            "Our month used to end with two days of copying numbers. With {name} it ends with a "
            "cup of tea.",
        ),
        Sample(
            "dana",
            4,
            "The first week was hard, because we had to tidy up first. That is not the fault of "
            "{name}, and I would do it again.",
        ),
    ),
    "anything": (
        Sample(
            "hannah",
            5,
            "I put off changing for a year because I dreaded it. It took one quiet afternoon, and "
            "I have been glad about {name} ever since.",
        ),
        Sample("tom", 4.5, "Short version: {name} keeps every promise, and keeps it on time."),
        Sample(
            "lucia",
            5,
            "What I noticed first was the people. Somebody at {name} read my question to the end, "
            "answered that question instead of another one, and came back a week later to ask "
            "whether it had helped. It had.",
        ),
        Sample(
            "theo",
            4.5,
            "We compared four options. In the end {name} wasn’t the cheapest. It was the only one "
            "we were still glad about after three months.",
        ),
        Sample(
            "aiko",
            5,
            "My clients notice the details, so I do too. With {name} I have stopped checking "
            "twice.",
        ),
        Sample(
            "dana",
            4,
            "I’m hard to please and I say so. Two small things could be smoother, and I told them "
            "both. One was fixed within the month. That is why I keep recommending {name}.",
        ),
    ),
}


def write_samples(business_name: str, trade: str = "") -> list[dict[str, Any]]:
    """Return the columns of the samples for a business, newest first; its name tells the trade."""
    return [
        {
            "author_name": PEOPLE[sample.who],
            "author_role": ROLE,
            "text": sample.text.replace("{name}", business_name or FALLBACK_NAME),
            "rating": sample.rating,
        }
        for sample in SAMPLES[trade or guess_trade(business_name)]
    ]


def find_face(author_name: str, author_role: str) -> str | None:
    """Return the URL of a sample's drawn face, as long as it is of one of these people."""
    face = _FACES.get(author_name) if author_role == ROLE else None
    return face and face_url(face)
