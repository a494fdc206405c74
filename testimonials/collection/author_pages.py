"""The author's own page, behind a personal link."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from flask import jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug import Response
from werkzeug.datastructures import MultiDict

from testimonials.collection import author_erasure, author_rights, forms, submission
from testimonials.collection.page_data import describe_with_owner, find_targets
from testimonials.core import clock
from testimonials.core.db.transactions import write
from testimonials.core.extensions import limiter
from testimonials.core.http.blueprints import authors
from testimonials.core.http.errors import FieldErrors
from testimonials.core.http.forms import read_unsent_form
from testimonials.core.http.i18n import language_query
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.security import answer_privately
from testimonials.projects.page_design import Question
from testimonials.testimonials.fields import Answer, write_answer
from testimonials.testimonials.history import (
    CONFIRM,
    OBJECT,
    TELL_AUTHOR,
    are_own_words,
    find_word_actions,
)
from testimonials.testimonials.media.playback import describe_recording_of


def list_questions(own: author_rights.OwnTestimonial) -> list[Question]:
    """Return the current questions of the testimonial's form, or none if the form was deleted.

    An answer that was chosen is still offered, what is or was private stays private, and what
    wasn't answered isn't required.
    """
    name, answers = own.row.form_name, _answers_by_id(own)
    form = forms.find_named(own.project, name) if name else None
    if name and form is None:
        return []
    questions = forms.list_form_questions(own.project, form)
    return [_adapt(each, answers.get(each["id"])) for each in questions]


def show_questions(own: author_rights.OwnTestimonial) -> list[Question]:
    """Return the questions for the page; a consent has the text that the author agreed to."""
    answers, questions = _answers_by_id(own), []
    for each in map(forms.show_question, list_questions(own)):
        was = answers.get(each["id"])
        is_agreed = was is not None and each["kind"] == "consent"
        agreed = dict.fromkeys(("text", "asked"), was["question"]) if was and is_agreed else {}
        questions.append(each | agreed)
    return questions


def fill_in(own: author_rights.OwnTestimonial) -> submission.Submission:
    row, answers, answered = own.row, _answers_by_id(own), {}
    typed = {
        "text": row.text,
        "name": row.author_name,
        "role": row.author_role,
        "company": row.author_company or "",
        "rating": f"{row.rating:g}" if row.rating else "",
    }
    for question in list_questions(own):
        if (was := answers.get(question["id"])) is not None:
            answer = was["answer"]
            answered[forms.field_name(question)] = (
                answer if isinstance(answer, list) else [str(answer)]
            )
    return submission.Submission(typed=typed, answered=answered)


def read_correction(
    own: author_rights.OwnTestimonial, form: MultiDict[str, str]
) -> submission.Submission:
    """Read the author's correction.

    Answers that are no longer asked for, or didn't change, stay as they were, with their questions.
    """
    schema = submission.WordsForm if own.row.kind == "written" else submission.SentenceForm
    words, questions = submission.read_words(form, own.correctable, schema), list_questions(own)
    sent, errors = forms.read_answers(form, questions)
    asked, new = {each["id"] for each in questions}, {each["id"]: each for each in sent}
    answers = []
    for was in own.row.answers or ():
        now = new.pop(was["id"], None)
        if was["id"] not in asked:
            answers.append(was)
        elif now is not None:
            answers.append(was if now["answer"] == was["answer"] else now)
    values = words.values | {"answers": [*answers, *new.values()] or None}
    answered = forms.read_typed(form, questions)
    return submission.Submission("", words.typed, values, words.errors | errors, answered)


def _answers_by_id(own: author_rights.OwnTestimonial) -> dict[str, Answer]:
    return {each["id"]: each for each in own.row.answers or ()}


def _adapt(question: Question, was: Answer | None) -> Question:
    if was is None or was["kind"] != question["kind"]:
        return question | {"isRequired": False}
    chosen: Sequence[Any] = was["answer"] if question["kind"] == "choice" else ()
    removed = [each for each in chosen if each not in question["choices"]]
    return question | {
        "choices": [*question["choices"], *removed],
        "several": question["several"] or len(chosen) > 1,
        "isPublic": question["isPublic"] and was["isPublic"],
    }


# A GET never changes anything, since mail scanners open links.

# What the previous request did.
DONE = ("corrected", "withdrawn", "consented", "verified", "unrecorded", CONFIRM, OBJECT, "saved")

limit_changes = limiter.per_address(Limit("author-ip", 60, "from one IP address", for_load=True))


@authors.get("/yours/<token>")
def show_own(token: str) -> ResponseReturnValue:
    """Show the testimonial, its state, and what can be done."""
    return _show(token, {})


@authors.post("/yours/<token>")
@limit_changes
def give_consent(token: str) -> ResponseReturnValue:
    """Give consent again after a withdrawal."""
    if errors := submission.ConsentForm().read(request.form).errors:
        return _show(token, errors, 422)
    with write(partial(_lock, token)) as own:
        author_rights.consent_again(own)
    return _go(token, "consented")


@authors.post("/yours/<token>/verify")
@limit_changes
def verify(token: str) -> ResponseReturnValue:
    """Verify the author's address, to which the link was emailed."""
    with write(partial(_lock, token)):
        return _go(token, "verified")


@authors.post("/yours/<token>/<any(confirm, object):action>")
@limit_changes
def sign(token: str, action: str) -> ResponseReturnValue:
    """In the public record, confirm the words that the page shows, or object to them."""
    sent = submission.SignForm().read()
    with write(partial(_lock, token)) as own:
        author_rights.sign(own, action, sent.values.get("seen", ""))
    return _go(token, action)


@authors.post("/yours/<token>/earlier")
@limit_changes
def show_earlier(token: str) -> ResponseReturnValue:
    """Choose whether the public record shows earlier words."""
    sent = submission.EarlierForm().read()
    with write(partial(_lock, token)) as own:
        own.row.shows_earlier = sent.values["shows_earlier"]
    return _go(token, "saved")


@authors.get("/yours/<token>/correct")
def show_correction(token: str) -> ResponseReturnValue:
    own = author_rights.find_own(token)
    return _edit(own, token, fill_in(own)) if own.can_correct else _go(token)


@authors.post("/yours/<token>/correct")
@limit_changes
def correct(token: str) -> ResponseReturnValue:
    """Change the words; the owner then decides again."""
    own = author_rights.find_own(token)
    sent = read_correction(own, request.form)
    if sent.errors:
        return _edit(own, token, sent, 422)
    with write(partial(_lock, token)) as own:
        is_changed = author_rights.correct(own, read_correction(own, request.form).values)
    return _go(token, "corrected" if is_changed else "")


@authors.post("/yours/<token>/withdraw")
@limit_changes
def withdraw(token: str) -> ResponseReturnValue:
    """Remove the testimonial from all public pages at once."""
    with write(partial(_lock, token)) as own:
        author_rights.withdraw(own)
    return _go(token, "withdrawn")


@authors.post("/yours/<token>/recording")
@limit_changes
def remove_recording(token: str) -> ResponseReturnValue:
    """Permanently remove the recording; the text stays."""
    with write(partial(_lock, token)) as own:
        author_rights.remove_recording(own)
    return _go(token, "unrecorded")


@authors.post("/yours/<token>/delete")
@limit_changes
def delete(token: str) -> ResponseReturnValue:
    with write(partial(author_rights.find_own, token, for_update=True)) as own:
        author_erasure.erase(own)
        author_erasure.record_erased(own)
    return redirect(url_for("authors.show_farewell", reason="deleted", **language_query()), 303)


@authors.get("/yours/<token>/<any(withdraw, recording, delete, 'not-mine'):action>")
def show_confirmation(token: str, action: str) -> ResponseReturnValue:
    """Ask for confirmation before one of the `action`s."""
    own = author_rights.find_own(token)
    is_allowed = {"not-mine": own.is_mailed, "recording": own.row.is_recorded}
    if not is_allowed.get(action, True):
        return _go(token)
    page = _frame(own, token)
    return answer_privately(
        render_template("collection/authors/confirm.html", **page, action=action)
    )


@authors.get("/yours/<token>/data")
def download_data(token: str) -> ResponseReturnValue:
    """Download everything that is stored about the testimonial, as JSON."""
    response = jsonify(author_erasure.describe_own_data(author_rights.find_own(token).row))
    response.headers["Content-Disposition"] = "attachment; filename=testimonial.json"
    return answer_privately(response)


@authors.post("/yours/<token>/not-mine")
@limit_changes
def deny(token: str) -> ResponseReturnValue:
    """Remove the address of somebody who didn't write this, and stop mail to it."""
    with write(partial(author_rights.find_own, token, for_update=True)) as own:
        author_erasure.disown(own)
    return redirect(url_for("authors.show_farewell", reason="not-mine", **language_query()), 303)


@authors.get("/yours/done/<any(deleted, 'not-mine'):reason>")
def show_farewell(reason: str) -> ResponseReturnValue:
    return render_template("collection/authors/end.html", reason=reason)


@authors.errorhandler(author_rights.AuthorLinkInvalid)
def show_problem(error: author_rights.AuthorLinkInvalid) -> ResponseReturnValue:
    reason = "gone" if error.status == 410 else "invalid"
    unsent = read_unsent_form()
    page = render_template("collection/authors/end.html", reason=reason, unsent=unsent)
    return answer_privately(page, error.status)


@authors.errorhandler(author_rights.AuthorRefused)
def show_refusal(_: author_rights.AuthorRefused) -> ResponseReturnValue:
    return _go((request.view_args or {})["token"])


def _lock(token: str) -> author_rights.OwnTestimonial:
    """Return the locked testimonial; an emailed link also verifies the address."""
    own = author_rights.find_own(token, for_update=True)
    author_rights.verify_email(own)
    return own


def _show(token: str, errors: FieldErrors, status: int = 200) -> Response:
    own, done = author_rights.find_own(token), request.args.get("done", "")
    answers, actions = own.row.read_answers(own.project), find_word_actions([own.row])[own.row.id]
    page = _frame(own, token) | {
        "state": _find_state(own),
        "answers": [answer | {"words": write_answer(answer)} for answer in answers],
        "sent_at": clock.iso(own.row.submitted_at),
        "seen": author_rights.hash_words(own.row),
        "said": next((each for each in actions if each != TELL_AUTHOR), ""),
        "is_changed": own.row.source == "public_page" and not are_own_words(actions),
        "done": done if done in DONE else "",
        "new_consent": submission.consent_sentence(own.project, own.row.kind)
        if own.can_consent
        else None,
        "errors": errors,
    }
    return answer_privately(render_template("collection/authors/author.html", **page), status)


def _edit(
    own: author_rights.OwnTestimonial, token: str, sent: submission.Submission, status: int = 200
) -> Response:
    questions = show_questions(own)
    page = _frame(own, token) | {
        "values": sent.typed,
        "questions": questions,
        "answers": sent.answered,
        # Without a script, a radio button can't be cleared.
        "offers_none": True,
        "limits": {"answer": forms.ANSWER_LENGTH},
        "targets": find_targets(questions),
        "errors": sent.errors,
    }
    return answer_privately(render_template("collection/authors/edit.html", **page), status)


def _frame(own: author_rights.OwnTestimonial, token: str) -> dict[str, Any]:
    """Return the context common to the author's pages."""
    page = describe_with_owner(own.project) | {"own": own, "row": own.row, "token": token}
    # A withdrawn recording is never played.
    page["recording"] = None if own.row.status == "withdrawn" else describe_recording_of(own.row)
    if own.project.deleted_at is not None:
        # A deleted project serves no public files.
        page["theme_css_url"] = None
    return page


def _find_state(own: author_rights.OwnTestimonial) -> str:
    """Return the state as the author sees it, where spam is `waiting`."""
    row, project = own.row, own.project
    if row.status == "withdrawn":
        return "withdrawn"
    if project.deleted_at is not None:
        return "closed"
    if row.deleted_at is not None:
        return "removed"
    if row.status == "approved":
        return "shown" if project.is_active else "paused"
    return "rejected" if row.status == "rejected" else "waiting"


def _go(token: str, done: str = "") -> Response:
    query = language_query() | ({"done": done} if done else {})
    response = redirect(url_for("authors.show_own", token=token, **query), 303)
    response.headers["Cache-Control"] = "no-store"
    return response
