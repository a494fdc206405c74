"""Changes that may be proposed: adding and editing testimonials, and deciding on them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar

from marshmallow import Schema, ValidationError, fields
from sqlalchemy import exists, func, or_, select

from testimonials.auth.email_addresses import Email
from testimonials.auth.tokens import Caller, Scope
from testimonials.core import clock
from testimonials.core.audit import LockedProject
from testimonials.core.db.prepared import in_one_trip
from testimonials.core.db.transactions import delete_rows
from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound, ServiceError
from testimonials.core.http.fields import (
    Choice,
    Identifier,
    List,
    Number,
    RuleField,
    StrictSchema,
    String,
    Switch,
    WholeSchema,
)
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.images.uploads import Image
from testimonials.core.settings.table import current_settings
from testimonials.core.text import TAG_LENGTH, TAG_PATTERN
from testimonials.projects.api import ProposalSchema
from testimonials.projects.changes import Outcome, Values, change
from testimonials.projects.models import Project, Proposal
from testimonials.projects.proposals import propose
from testimonials.testimonials import moderation
from testimonials.testimonials.fields import (
    Captions,
    CardFields,
    Highlights,
    Rating,
    Reply,
    Transcript,
)
from testimonials.testimonials.highlights import arrange
from testimonials.testimonials.history import record_additions
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.schemas import DecisionSchema, TestimonialAddSchema
from testimonials.testimonials.submissions import require_known
from testimonials.testimonials.tags import MAX_TAGS, TagRefused, read_tags
from testimonials.testimonials.testimonials import (
    add_approved_testimonial,
    find_by_external_ids,
    prepare_approved,
    write_added,
)
from testimonials.testimonials.undo import make_undo_token


@change(
    "testimonial.add",
    title=gettext_noop("add a testimonial"),
    schema=TestimonialAddSchema,
    scope=Scope.PUBLISH,
    done="Testimonial created",
)
def add_testimonial(
    project: Project | LockedProject, _target: str | None, values: Values, actor: str
) -> Outcome:
    """Add a testimonial, or return the existing one with the caller's own id."""
    name = values.get("external_id")
    if name and isinstance(project, Project):
        for row in find_by_external_ids(project, [name]).values():
            return Outcome({"testimonialId": row.id}, row)
    is_fast = isinstance(project, LockedProject)
    with in_one_trip(db.session().connection()) if is_fast else nullcontext():
        row = add_approved_testimonial(project, values)
        record_additions(project, [row], actor)
    return Outcome({"testimonialId": row.id}, row)


class TagList(RuleField):
    """Tags as a JSON list of strings."""

    rule = (
        f"Must be a list of at most {MAX_TAGS} tags of 1 to {TAG_LENGTH} characters, without "
        "commas."
    )
    about: ClassVar[Mapping[str, Any]] = {
        "type": "array",
        "items": {"type": "string", "maxLength": TAG_LENGTH, "pattern": TAG_PATTERN},
        "maxItems": MAX_TAGS,
        "description": "All tags; tags that are left out are removed.",
    }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.make_error("invalid")
        try:
            names = read_tags(",".join(value))
            if any(len(read_tags(each)) != 1 for each in value):
                raise self.make_error("invalid")
        except TagRefused as error:
            raise ValidationError(error.message) from None
        return names


class NewHighlights(Highlights):
    """Highlights; an empty list removes them."""

    about: ClassVar[Mapping[str, Any]] = {
        "type": "array",
        "items": {"type": "array", "items": {"type": "integer"}},
        "description": "Ranges of `text` to mark, in code points, such as [[0, 12]].",
    }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        return [] if value == [] else super()._deserialize(value, attr, data, **kwargs)


_CARD = CardFields().fields.keys()


class TestimonialEditSchema(CardFields, StrictSchema):
    """Changes to a testimonial; what is left out stays, and null removes an optional field."""

    authorEmail = Email(attribute="author_email", is_lasting=False, allow_none=True)
    rating = Rating(description="null removes it. A visitor’s rating can’t be changed: 409.")
    tags = TagList()
    pinned = Switch(attribute="is_pinned", description="Only approved testimonials can be pinned.")
    reply = Reply(description="The owner’s public reply; an empty text removes it.")
    highlights = NewHighlights()
    avatarId = Identifier(
        attribute="avatar_id",
        allow_none=True,
        description="An uploaded picture; null removes the photo.",
    )
    transcript = Transcript(description="What is said in the recording.")
    captions = Captions(
        description="WebVTT for the recording; an empty text removes it. Without captions, the "
        "transcript is shown instead."
    )
    showsTranscript = Switch(
        attribute="shows_transcript", description="Whether the transcript is the card’s `text`."
    )

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        if field_name in _CARD:
            column = Testimonial.__table__.columns[field_obj.attribute or field_name]
            field_obj.required, field_obj.allow_none = False, bool(column.nullable)


_EDIT = TestimonialEditSchema()


@change(
    "testimonial.edit",
    title=gettext_noop("edit a testimonial"),
    schema=TestimonialEditSchema,
    scope=Scope.PUBLISH,
    before=lambda project, target, _values: read_fields(
        moderation.find_testimonial(project, target or "")
    ),
    done="Testimonial updated",
    needs_target=True,
)
def edit(project: Project, target: str | None, values: Values, actor: str) -> Outcome:
    row = moderation.find_testimonial(project, target or "")
    if values.get("avatar_id") != row.avatar_id:
        publish_picture(project, values.get("avatar_id"))
    batch = moderation.edit_testimonial(project, row, _to_columns(row, values), actor)
    undo = make_undo_token(project, batch) if batch else None
    return Outcome({"testimonialId": row.id}, undo=undo)


def _to_columns(row: Testimonial, values: Values) -> Values:
    """Return the columns that an edit sets. Raises `ActionRefused` if it can't be pinned."""
    columns = dict(values)
    if "author_company" in columns:
        columns["author_company"] = columns["author_company"] or None
    if values.get("avatar_id", "") is None:
        columns.setdefault("author_avatar", None)
    if "author_avatar" in values:
        # An uploaded photo would take precedence.
        columns.setdefault("avatar_id", None)
    if values.get("is_pinned") and not (row.is_pinned or moderation.ACTIONS["pin"].can(row)):
        raise moderation.ActionRefused(gettext_noop("Only an approved testimonial can be pinned."))
    if "highlights" in values:
        text = values.get("text", row.text)
        columns["highlights"] = arrange(text, values["highlights"]) or None
    if "reply" in values:
        columns["reply"] = values["reply"] or None
        if columns["reply"] != row.reply:
            columns["replied_at"] = clock.now() if values["reply"] else None
    return columns


def read_fields(row: Testimonial) -> Values:
    """Return the current values of what an edit may change, in the same form as in an edit."""
    now = {name: getattr(row, each.attribute or name) for name, each in _EDIT.fields.items()}
    empty = {"authorCompany": "", "reply": "", "highlights": []}
    return now | {name: now[name] or value for name, value in empty.items()}


@change(
    "testimonial.decide",
    title=gettext_noop("decide about testimonials"),
    schema=DecisionSchema,
    scope=Scope.PUBLISH,
    before=lambda project, _target, values: {
        "ids": {row.id: name_state(row) for row in require_known(project, values["ids"])}
    },
    done="Decided",
)
def decide(project: Project, _target: str | None, values: Values, actor: str) -> Outcome:
    rows = require_known(project, values["ids"])
    name = values["decision"]
    if not moderation.list_open(project, rows, name):
        states = ", ".join(sorted({name_state(row) for row in rows}))
        raise moderation.ActionRefused(f"This can’t be done: the state now is {states}.")
    batch, _ = moderation.apply_action(project, rows, name, actor, reason=values.get("reason", ""))
    return Outcome(undo=make_undo_token(project, batch))


def name_state(row: Testimonial) -> str:
    return "deleted" if row.deleted_at is not None else row.status


def find_picture(project: Project, image_id: str | None) -> Image | None:
    """Return the picture, if there is an id. Raises `NotFound`, even for another project's picture.

    Ids of pictures are public, in URLs. If two projects used one, it would remain when its author
    erases it.
    """
    image = None if image_id is None else db.session.get(Image, image_id)
    if image is not None:
        by_author = exists().where(
            Testimonial.avatar_id == image_id, Testimonial.project_id != project.id
        )
        is_shown = or_(Project.logo_id == image_id, Project.brand_logo_id == image_id)
        as_logo = exists().where(is_shown, Project.id != project.id)
        image = None if db.session.scalar(select(or_(by_author, as_logo))) else image
    if image is None and image_id is not None:
        raise NotFound("There is no such picture. Upload it again.")
    return image


def publish_picture(project: Project, image_id: str | None) -> Image | None:
    if image := find_picture(project, image_id):
        image.is_held = False
    return image


def delete_old_proposals() -> int:
    """Delete proposals that were decided long ago, or whose testimonial is gone; return how many.

    They contain the words and address of an author, who may have erased them.
    """
    added = Proposal.result["testimonialId"].as_string()
    about = func.coalesce(Proposal.target_id, added)
    is_gone = about.is_not(None) & ~exists().where(Testimonial.id == about)
    until = clock.expired_until(current_settings().proposal_days)
    return delete_rows(Proposal, or_(Proposal.decided_at < until, is_gone))


class BulkResultSchema(Schema):
    index = Number(required=True, description="Its place in the list, from 0.")
    status = Choice(
        "created",
        "exists",
        "proposed",
        "refused",
        required=True,
        description="`exists`: there is already one with this `externalId`; it wasn't changed.",
    )
    testimonialId = String(
        attribute="testimonial.id", description="The added or existing testimonial."
    )
    proposal = fields.Nested(ProposalSchema)
    errors = fields.Dict(
        keys=String(),
        values=List(String()),
        metadata={"description": "Why it was refused: the broken rules by field."},
    )


class BulkResultsSchema(WholeSchema):
    results = List(fields.Nested(BulkResultSchema))


KIND = "testimonial.add"

LABELS = {
    "created": "added",
    "exists": "there already",
    "proposed": "waiting for the owner",
    "refused": "refused",
}

Results = list[dict[str, Any]]

_ADD = TestimonialAddSchema()


def add_each(caller: Caller, project: Project, sent: Sequence[Any], reason: str = "") -> Results:
    """Add testimonials to the locked project, or propose them if the caller may only draft.

    Returns what `BulkResultSchema` dumps. A refused testimonial doesn't stop the others; one whose
    external id exists, or is proposed, stays as it is.
    """
    checked = [_check(each) for each in sent]
    names = [each["external_id"] for each, _ in checked if each and "external_id" in each]
    rows = find_by_external_ids(project, names) if names else {}
    known: dict[str, dict[str, Any]] = {
        name: {"status": "exists", "testimonial": row} for name, row in rows.items()
    }
    if caller.drafts_only:
        known = _find_waiting(project, names) | known
    results: Results = []
    for index, (values, errors) in enumerate(checked):
        name = values.get("external_id") if values else None
        if values is None:
            result: dict[str, Any] = {"status": "refused", "errors": errors}
        elif name in known:
            result = known[name]
        elif caller.drafts_only:
            result = _propose(caller, project, values, reason)
            known |= {name: result} if name and "errors" not in result else {}
        else:
            result = {"status": "created", "testimonial": prepare_approved(project, values)}
            known |= {name: result | {"status": "exists"}} if name else {}
        results.append({"index": index} | result)
    added = [each["testimonial"] for each in results if each["status"] == "created"]
    write_added(project, added, caller.label)
    return results


def summarize_results(results: Results) -> str:
    counts = Counter(each["status"] for each in results)
    parts = (f"{counts[name]} {label}" for name, label in LABELS.items() if counts[name])
    return ", ".join(parts) + "."


def _check(sent: Any) -> tuple[dict[str, Any] | None, dict[str, list[str]]]:
    """Return the loaded values, or None and the errors."""
    if not isinstance(sent, dict):
        return None, {"testimonial": ["Must be an object."]}
    try:
        return _ADD.check(sent), {}
    except ValidationError as error:
        return None, error.messages_dict


def _propose(
    caller: Caller, project: Project, values: dict[str, Any], reason: str
) -> dict[str, Any]:
    try:
        proposal = propose(caller, project, KIND, values, reason=reason)
        return {"status": "proposed", "proposal": proposal}
    except ServiceError as error:
        return {"status": "refused", "errors": {"testimonial": [error.message]}}


def _find_waiting(project: Project, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the results for external ids with a waiting proposal to add a testimonial."""
    row = Proposal
    is_waiting = (row.project_id == project.id, row.status == "waiting", row.kind == KIND)
    query = select(row).where(*is_waiting, row.values["externalId"].as_string().in_(names))
    return {
        each.values["externalId"]: {"status": "proposed", "proposal": each}
        for each in (db.session.scalars(query) if names else ())
    }
