"""What authors may do with their personal link, and mail to authors."""

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import select

from testimonials.collection.models import UnsubscribedAddress, hash_email
from testimonials.collection.submission import consent_sentence
from testimonials.core import clock
from testimonials.core.db.erasure import ADDRESS, is_erased
from testimonials.core.db.identifiers import hash_secret
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.i18n import PARAMETER, current_language, gettext, gettext_noop, speaking
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.http.urls import author_url, wall_url
from testimonials.core.jobs import current_job, job
from testimonials.core.mail.outbox import send_mail
from testimonials.core.text import cut, split_text
from testimonials.projects.models import Project
from testimonials.projects.notifications import project_look
from testimonials.projects.projects import mark_changed, names_service
from testimonials.testimonials import history, record
from testimonials.testimonials.events import AUTHOR, AUTHOR_THANKED, BY_AUTHOR, name_change
from testimonials.testimonials.media.uploads import REMOVE, WRITTEN, take_off_recording
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation import ActionRefused
from testimonials.testimonials.notifications import (
    NAME_LENGTH,
    describe_card,
    enqueue_notification,
    lock_for_job,
)

# The thank-you page shows the link. An emailed link also names the address, so using it proves that
# the address is the author's.

LINK_SECONDS = 5 * 365 * 24 * 60 * 60

AUTHOR_MAIL = "author-link"
MAIL_LINK = "mail.author-link"

author_purpose = TokenPurpose("author-link")


class AuthorLinkInvalid(ServiceError):
    """The link is incomplete or too old, or the holder of its address has denied authorship."""

    status = 404
    default_message = gettext_noop("This link no longer works.")


class NothingLeft(AuthorLinkInvalid):
    """The testimonial was deleted."""

    status = 410
    code = "NOTHING_LEFT"


class AuthorRefused(ServiceError):
    """The testimonial's state doesn't allow this."""

    status = 409


@dataclass(frozen=True)
class OwnTestimonial:
    """A testimonial with its project, as reached by its author's link."""

    row: Testimonial
    project: Project
    # Whether the link was emailed to the testimonial's current address.
    is_mailed: bool

    @property
    def can_correct(self) -> bool:
        """Whether it may be corrected; if it was rejected, only once a day."""
        returned_at, yesterday = self.row.returned_at, clock.now() - timedelta(days=1)
        is_fresh = returned_at is not None and returned_at > yesterday
        return self.can_sign and not (self.row.status == "rejected" and is_fresh)

    @property
    def correctable(self) -> dict[str, bool]:
        """Which optional fields the author may correct: those asked for or with a value.

        The address isn't one, since it would have to be verified again.
        """
        row, asked = self.row, self.project.page_config["collectFields"]
        # The form's five buttons would lose half stars that an owner entered.
        is_whole = row.rating is None or row.rating.is_integer()
        return {
            "role": bool(asked["role"] or row.author_role),
            "company": bool(asked["company"] or row.author_company),
            "rating": bool((asked["rating"] or row.rating) and is_whole),
        }

    @property
    def can_consent(self) -> bool:
        return self.row.status == "withdrawn" and self.project.deleted_at is None

    @property
    def can_sign(self) -> bool:
        row = self.row
        return not (self.project.deleted_at or row.deleted_at or row.status == "withdrawn")

    @property
    def can_verify(self) -> bool:
        return self.is_mailed and self.row.email_verified_at is None


def make_author_token(row: Testimonial, *, is_mailed: bool = False) -> str:
    """Return the token of the author's link; an emailed one names the address."""
    return author_purpose.sign([row.id, _fingerprint(row) if is_mailed else ""])


def make_author_url(project: Project, token: str, language: str, page: str = "") -> str:
    return f"{author_url(token, page, project.own_host)}?{PARAMETER}={language}"


def find_in_project(project: Project, token: str) -> OwnTestimonial | None:
    """Return a link's testimonial if it is the project's."""
    try:
        own = find_own(token)
    except AuthorLinkInvalid:
        return None
    return own if own.project.id == project.id else None


def find_own(token: str, *, for_update: bool = False) -> OwnTestimonial:
    """Return a link's testimonial; `for_update` locks its project.

    This works in paused and deleted projects too: authors can delete their words as long as they
    are stored. Raises `AuthorLinkInvalid` and `NothingLeft`.
    """
    named = author_purpose.find(token, 2, LINK_SECONDS)
    if named is None:
        raise AuthorLinkInvalid
    testimonial_id, fingerprint = map(str, named)
    query = select(Project).join(Testimonial, Testimonial.project_id == Project.id)
    query = query.where(Testimonial.id == testimonial_id)
    if for_update:
        query = query.with_for_update(of=Project)
    project = db.session.scalars(query).one_or_none()
    row = db.session.get(Testimonial, testimonial_id)
    if project is None or row is None:
        raise NothingLeft
    # If an earlier backup was restored, only the list of erasures shows that it was disowned.
    if fingerprint and (
        history.list_history(row.id, "disown") or is_erased(db.session(), ADDRESS, row.id)
    ):
        raise AuthorLinkInvalid
    return OwnTestimonial(row, project, bool(fingerprint) and fingerprint == _fingerprint(row))


def send_author_mail(
    project: Project,
    row: Testimonial,
    email: str | None = None,
    thanks: str = "",
    *,
    is_changed: bool = False,
) -> bool:
    """Email authors their own link, in the language of their form; return whether it was sent.

    It goes to the author's address, or to `email`, which isn't stored. The email quotes nothing, so
    nobody can use the form to write to strangers; it shows the card only with `thanks` (the owner's
    words to a verified address) or `is_changed`. Nothing is sent for spam, to an unsubscribed
    address, or to one that the owner entered.
    """
    is_theirs = email in (None, row.author_email)
    email = email or row.author_email
    if row.status == "spam" or email is None or is_unwanted(project, email):
        return False
    if is_theirs and row.source == "public_page" and _was_replaced(row):
        return False
    with speaking(row.consent_language) as language:
        token = make_author_token(row, is_mailed=is_theirs)
        name, is_ours = cut(project.name, NAME_LENGTH), names_service(project)
        title, card = _choose_words(project, row, bool(thanks), is_changed)
        values = card | {
            "project_name": name,
            "thanks": thanks,
            "is_changed": is_changed,
            "link_url": make_author_url(project, token, language.code),
            # An address that isn't stored can't be disowned.
            "disown_link": is_theirs and make_author_url(project, token, language.code, "not-mine"),
            "names_service": is_ours,
        }
        sender = None if is_ours and not thanks else project.name
        send_mail(
            email,
            AUTHOR_MAIL,
            title,
            "author",
            values,
            look=project_look(project),
            language=language.code,
            sender_name=sender,
        )
    return True


def _was_replaced(row: Testimonial) -> bool:
    """Return whether somebody has replaced the address that the author entered.

    The link lets its holder speak for the author, so owners can't direct it to themselves.
    """
    emails = [each.before["author_email"] for each in history.list_history(row.id)[::-1]
              if "author_email" in each.before]  # fmt: skip
    return bool(emails) and emails[0] != row.author_email


def _choose_words(
    project: Project, row: Testimonial, has_thanks: bool, is_changed: bool
) -> tuple[str, dict[str, Any]]:
    """Return the subject of an email, and the context of its card if it shows one."""
    if is_changed:
        card = _describe_words(row) if row.email_verified_at else {}
        return gettext("Are these still your words?"), card
    if has_thanks and row.status == "approved":
        return gettext("Your words are on our site"), _describe_shown(project, row)
    name = cut(project.name, NAME_LENGTH)
    return gettext("Your testimonial for %(name)s", name=name), {}


def _describe_shown(project: Project, row: Testimonial) -> dict[str, Any]:
    """Return an approved testimonial's card, and where it is shown."""
    url = project.page_config["website"] or wall_url(project.slug, project.own_host)
    label = url.partition("://")[2].removeprefix("www.").rstrip("/")
    return _describe_words(row) | {"site_url": url, "site_label": label}


def _describe_words(row: Testimonial) -> dict[str, Any]:
    return {"shown": describe_card(row, split_text(row.text, row.highlights)), "words": row.text}


@job(MAIL_LINK, "mail")
def mail_link(testimonial_id: str) -> None:
    """Email the author of a new testimonial their link, unless it was deleted or withdrawn."""
    with write(partial(lock_for_job, testimonial_id)) as locked:
        if locked is not None and not (locked[1].deleted_at or locked[1].status == "withdrawn"):
            send_author_mail(*locked)


def verify_email(own: OwnTestimonial) -> None:
    """Verify the author's address, if the link was emailed to it.

    The history doesn't show this, or the owner couldn't undo earlier changes.
    """
    if own.can_verify:
        own.row.email_verified_at = clock.now()
        record.note(own.project, own.row, "proven")


def correct(own: OwnTestimonial, values: dict[str, Any]) -> bool:
    """Correct columns of the testimonial; return whether any changed. The project is locked.

    A decided testimonial returns to the queue. A new text loses the highlights and the reply.
    Raises `AuthorRefused`.
    """
    row = own.row
    if not own.can_correct:
        raise AuthorRefused
    changes = {name: value for name, value in values.items() if getattr(row, name) != value}
    if not changes:
        return False
    if "text" in changes:
        if row.original_text is None:
            changes["original_text"] = row.text
        owners = ("highlights", "reply", "replied_at")
        changes |= {name: None for name in owners if getattr(row, name) is not None}
    if row.status in ("approved", "rejected"):
        changes |= {"status": "pending", "reviewed_at": None, "set_aside": None}
    _change(own, changes, history.CORRECT, returns=True)
    return True


def withdraw(own: OwnTestimonial) -> None:
    """Withdraw consent, which hides the testimonial. The project is locked."""
    is_by_owner = own.row.set_aside == "withdrawn"
    if own.row.status != "withdrawn" or is_by_owner:
        changes = {"status": "withdrawn", "consent_withdrawn_at": clock.now()}
        # So the owner can no longer undo it.
        changes |= {"set_aside": None} if is_by_owner else {}
        _change(own, changes, "withdraw")


def remove_recording(own: OwnTestimonial) -> None:
    """Permanently remove the recording, and keep the text. The project is locked.

    Raises `AuthorRefused` unless there are both.
    """
    if not (own.row.is_recorded and own.row.text):
        raise AuthorRefused
    take_off_recording(own.row)
    _change(own, WRITTEN, REMOVE)


def consent_again(own: OwnTestimonial) -> None:
    """Consent again to the sentence on the page; the owner decides again. The project is locked.

    What was rejected or held as spam before returns to that state. Raises `AuthorRefused`.
    """
    if not own.can_consent:
        raise AuthorRefused
    withdrawals = history.list_history(own.row.id, "withdraw")
    before = withdrawals[0].before.get("status") if withdrawals else None
    status = before if before in ("rejected", "spam") else "pending"
    changes = {
        "status": status,
        "consent_withdrawn_at": None,
        "consent_text": consent_sentence(own.project, own.row.kind),
        "consent_language": current_language().code,
        "consented_at": clock.now(),
    }
    if status == "pending":
        changes |= {"reviewed_at": None, "set_aside": None}
    _change(own, changes, "consent", returns=True)


def _change(
    own: OwnTestimonial, changes: dict[str, Any], action: str, *, returns: bool = False
) -> None:
    """Change columns and record it; with `returns`, notify people as of a new one."""
    row, project = own.row, own.project
    if returns:
        row.returned_at = project.next_time()
    history.change_all(project, [(row, changes)], AUTHOR, action, by=BY_AUTHOR)
    if returns and row.status == "pending" and row.deleted_at is None:
        enqueue_notification(row)


def sign(own: OwnTestimonial, action: str, words: str) -> bool:
    """Confirm the current words, or object to them, and return whether anything changed.

    The project is locked. `words` is the digest of those that the page showed. Raises
    `AuthorRefused`.
    """
    row, project = own.row, own.project
    if not own.can_sign or hash_words(row) != words:
        raise AuthorRefused
    if history.find_word_actions([row])[row.id][:1] == [action]:
        return False
    # The card may gain or lose a mark.
    mark_changed(project)
    entry = record.write_entry(row, SIGNED[action], hashes=record.find_digests([row])[row.id])
    type = str(name_change(row, {}) or "")
    history.add_step(project, row, action, AUTHOR, BY_AUTHOR, type=type, **entry)
    return True


SIGNED = {history.CONFIRM: "confirmed", history.OBJECT: "objected"}


def hash_words(row: Testimonial) -> str:
    return record.hash_salted("", record.describe_words(row))[:16]


@job(history.MAIL_CHANGED, "mail")
def mail_changed() -> None:
    """Notify an author, only once, that somebody else changed their words."""
    with write(partial(lock_for_job, current_job().id)) as locked:
        if locked is None or locked[1].deleted_at or locked[1].status == "withdrawn":
            return
        is_known = bool(history.find_word_actions([locked[1]])[locked[1].id])
        if not is_known and send_author_mail(*locked, is_changed=True):
            history.add_step(*locked, history.TELL_AUTHOR, "")


def is_unwanted(project: Project, email: str) -> bool:
    """Return whether the address has unsubscribed from the project's account."""
    key = (project.account_id, hash_email(project.account_id, email))
    return db.session.get(UnsubscribedAddress, key) is not None


def _fingerprint(row: Testimonial) -> str:
    return hash_secret(row.author_email)[:16] if row.author_email else ""


# Authors can be thanked by email once, at a verified address.

THANK = "thank"
WHY_NOT = gettext_noop(
    "No email was sent. Authors can be thanked once, at a verified address, unless they "
    "declined or withdrew."
)


def can_thank(project: Project, row: Testimonial) -> bool:
    email = row.author_email
    if email is None or row.email_verified_at is None or row.deleted_at is not None:
        return False
    if row.status not in ("pending", "approved", "rejected") or is_unwanted(project, email):
        return False
    return not history.list_history(row.id, THANK)


def thank_author(project: Project, row: Testimonial, words: str, actor: str) -> None:
    """Email the words to the author and record it in the locked project. Raises `ActionRefused`."""
    if not can_thank(project, row):
        raise ActionRefused(WHY_NOT)
    send_author_mail(project, row, thanks=words)
    history.add_step(project, row, THANK, actor, type=str(AUTHOR_THANKED))
