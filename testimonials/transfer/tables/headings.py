"""Recognising the columns of a file by the headings of known services, or by their meaning."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from testimonials.core.terminal_text import make_printable
from testimonials.core.web.errors import ServiceError

# The fields and their labels.
FIELDS = {
    "text": "Text",
    "authorName": "Name",
    "authorRole": "Role",
    "authorCompany": "Company",
    "authorEmail": "Email address",
    "authorAvatar": "Photo URL",
    "rating": "Rating",
    "submittedAt": "Date",
    "tags": "Tags",
    "status": "Status",
    "highlights": "Highlighted words",
    "reply": "Reply",
}
REQUIRED = ("text", "authorName")

# Headings in lower case without spaces and punctuation; those further left win.
MEANINGS: dict[str, tuple[str, ...]] = {
    "text": (
        "text", "testimonial", "testimonialtext", "quote", "review", "reviewtext", "reviewbody",
        "reviewcontent", "content", "body", "words", "feedback", "message", "comment", "comments",
        "bewertung", "avis", "reseña", "recensione",
    ),
    "authorName": (
        "authorname", "customername", "name", "fullname", "displayname", "reviewername", "author",
        "reviewer", "customer", "client", "clientname", "username",
    ),
    "authorRole": (
        "authorrole", "customertagline", "role", "jobtitle", "jobrole", "tagline", "position",
        "job", "authortitle", "title", "headline",
    ),
    "authorCompany": (
        "authorcompany", "customercompany", "company", "companyname", "organization",
        "organisation", "business", "firma",
    ),
    "authorEmail": (
        "authoremail", "customeremail", "email", "emailaddress", "mail", "revieweremail",
    ),
    "authorAvatar": (
        "authoravatar", "customeravatar", "avatar", "avatarurl", "photo", "photourl", "picture",
        "pictureurl", "profileimage", "profileimageurl", "profilepicture", "profilephoto",
        "image", "imageurl",
    ),
    "rating": ("rating", "stars", "starrating", "reviewrating"),
    "submittedAt": (
        "submittedat", "date", "datecreated", "createdat", "created", "reviewdate", "submitted",
        "submissiondate", "datesubmitted", "time", "timestamp", "datum",
    ),
    "tags": ("tags", "tag", "labels"),
    "status": ("status", "approved", "state"),
    "highlights": ("highlights", "highlightedwords"),
    "reply": ("reply", "publicreply", "ownerreply", "reviewreply"),
}  # fmt: skip
FIRST_NAMES = ("firstname", "givenname", "vorname")
LAST_NAMES = ("lastname", "surname", "familyname", "nachname")

# Headings that only one service uses. Famewall's are undocumented.
OWN, SENJA, TESTIMONIAL_TO = "Testimonials", "Senja", "Testimonial.to"
_MARKS = {
    OWN: {"authorname", "submittedat", "consenttext"},
    SENJA: {"customername"},
    TESTIMONIAL_TO: {"testimonial", "avatarurl"},
}
# Senja calls the heading of a testimonial its title.
_NOT_MEANT = {SENJA: {"title", "headline"}}


class MappingWrong(ServiceError):
    status = 422
    code = "MAPPING_WRONG"


@dataclass(frozen=True)
class ColumnMapping:
    """The columns that each field is read from; the cells of several are joined with a space."""

    columns: Mapping[str, tuple[str, ...]]
    service: str | None = None

    def pick(self, cells: Mapping[str, str], field: str) -> str:
        headings = self.columns.get(field, ())
        parts = [cell for heading in headings if (cell := cells.get(heading, "").strip())]
        return " ".join(parts).replace("\r\n", "\n").replace("\r", "\n")


def guess_mapping(headings: Sequence[str]) -> ColumnMapping:
    """Return the columns of each field, judging by their headings."""
    by_meaning: dict[str, str] = {}
    for heading in headings:
        by_meaning.setdefault(re.sub(r"[\W_]+", "", heading.casefold()), heading)
    marked = (name for name, marks in _MARKS.items() if marks <= by_meaning.keys())
    service = next(marked, None)
    for heading in _NOT_MEANT.get(service or "", ()):
        by_meaning.pop(heading, None)

    def take(meanings: Iterable[str]) -> tuple[str, ...]:
        """Return the first of the headings, and keep it from being taken again."""
        return next(((by_meaning.pop(each),) for each in meanings if each in by_meaning), ())

    columns = {field: take(meanings) for field, meanings in MEANINGS.items()}
    columns["authorName"] = columns["authorName"] or take(FIRST_NAMES) + take(LAST_NAMES)
    return ColumnMapping({field: found for field, found in columns.items() if found}, service)


def change_mapping(
    guessed: ColumnMapping, headings: Sequence[str], choices: Mapping[str, Sequence[str]]
) -> ColumnMapping:
    """Return the mapping with a person's choices; an empty choice leaves a field out.

    Raises `MappingWrong`.
    """
    columns = dict(guessed.columns)
    for field, names in choices.items():
        if field not in FIELDS:
            raise MappingWrong(f"There is no field {field}. The fields are: {', '.join(FIELDS)}.")
        for name in names:
            if name not in headings:
                raise MappingWrong(
                    f"There is no column “{name}”. The columns are: {_list(headings)}."
                )
        columns[field] = tuple(names)
    return ColumnMapping({field: each for field, each in columns.items() if each}, guessed.service)


def find_missing(mapping: ColumnMapping) -> list[str]:
    """Return the required fields without a column."""
    return [field for field in REQUIRED if field not in mapping.columns]


def require_mapping(mapping: ColumnMapping, headings: Sequence[str]) -> None:
    """Raise `MappingWrong` if no column has the text or the name."""
    if missing := find_missing(mapping):
        labels = " and ".join(FIELDS[field].lower() for field in missing)
        raise MappingWrong(
            f"Which column has the {labels}? The columns are: {_list(headings)}. Name it with "
            f"--map {missing[0]}=COLUMN."
        )


def _list(headings: Sequence[str]) -> str:
    return ", ".join(make_printable(heading, 60) for heading in headings[:30])
