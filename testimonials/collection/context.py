"""The context of a request for a project's form, looked up once and passed on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flask import current_app, request

from testimonials.collection.forms import find_named, read_form_design
from testimonials.collection.models import CollectionForm, MailedRequest
from testimonials.collection.request_mail import find_request, lock_request
from testimonials.collection.verified_purchases import Purchase, read_purchase
from testimonials.core.http.errors import NotFound
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.images.uploads import UPLOAD_FORM_BYTES, largest_form
from testimonials.core.settings.table import current_settings
from testimonials.projects.models import Project
from testimonials.projects.page_design import Question
from testimonials.projects.projects import find_public_project, lock_project

# The fields of a form or URL with the token of an emailed request or of a purchase.
INVITATION, PURCHASE = LINKS = ("invitation", "purchase")


@dataclass(frozen=True)
class Context:
    """The project's form, and what the visitor's link proves."""

    project: Project
    # None for the project's own page.
    form: CollectionForm | None
    is_open: bool
    questions: Sequence[Question]
    # The tag of testimonials sent from the form.
    tag: str
    # Whether everybody who writes now gets a code.
    is_rewarded: bool
    takes_photo: bool
    # The kinds of recordings that the page accepts.
    kinds: Sequence[str]
    # From the links: the emailed request, and the purchase.
    asked: MailedRequest | None
    purchase: Purchase | None
    # The request that a submission would answer, and the order that the link proves.
    answers: MailedRequest | None
    order: str
    # The links' tokens, which the form passes on.
    links: Mapping[str, str]
    # Whether the form exceeds even the limit for files, and so wasn't read.
    is_too_large: bool = False

    def lock(self) -> "Context":
        """Return the context after locking, and reading again, what a submission changes."""
        project = lock_project(self.project.id)
        asked = lock_request(self.asked) if self.asked else None
        return replace(self, project=project, **_follow(asked, self.purchase))


def make_context(
    project: Project,
    form: CollectionForm | None = None,
    asked: MailedRequest | None = None,
    purchase: Purchase | None = None,
    links: Mapping[str, str] | None = None,
) -> Context:
    design = project.whole_page_design
    own = read_form_design(form) if form else design
    has_room = current_settings().account_recordings_megabytes > 0
    return Context(
        project=project,
        form=form,
        is_open=project.is_open and (form is None or form.is_open),
        questions=own["questions"],
        tag=own.get("tag", ""),
        is_rewarded=any(step["kind"] == "code" for step in project.open_steps),
        takes_photo=bool(project.page_config["collectFields"].get("avatar")),
        kinds=[kind for kind in ("video", "voice") if has_room and design[kind]],
        links=links or {},
        **_follow(asked, purchase),
    )


def _follow(asked: MailedRequest | None, purchase: Purchase | None) -> dict[str, Any]:
    answers = asked if asked and asked.answered_at is None else None
    mailed = answers.purchase_reference if answers else None
    order = mailed or (purchase.order if purchase else "")
    return {"asked": asked, "purchase": purchase, "answers": answers, "order": order}


def resolve(slug: str, form_name: str = "") -> Context:
    """Return the context of this request. Raises `NotFound`.

    An emailed link to a deleted form opens the project's own page.
    """
    project = find_public_project(slug=slug)
    form = find_named(project, form_name) if form_name else None
    context = make_context(project, form)
    is_missing = bool(form_name) and form is None
    if not (context.is_open or is_missing):
        return context
    is_too_large = _allow_files(context)
    values: dict[str, Any] = request.args if is_too_large else request.values
    links = {name: token for name in LINKS if (token := values.get(name, ""))}
    asked = find_request(links[INVITATION], project.id) if INVITATION in links else None
    if is_missing and asked is None:
        raise NotFound(gettext_noop("It may have moved, or the address may be mistyped."))
    purchase = read_purchase(project, links[PURCHASE]) if PURCHASE in links else None
    context = make_context(project, form, asked, purchase, links)
    return replace(context, is_too_large=is_too_large)


def _allow_files(context: Context) -> bool:
    """Raise the size limit of a form with files; return whether it is still too large.

    The limit on its text stays, since only files are buffered on disk.
    """
    takes_files = context.kinds or context.takes_photo
    if not takes_files or request.mimetype != "multipart/form-data":
        return False
    request.max_form_memory_size = current_app.config["MAX_CONTENT_LENGTH"]
    request.max_content_length = largest_form() if context.kinds else UPLOAD_FORM_BYTES
    return (request.content_length or 0) > request.max_content_length
