"""What is said in a recording: its transcript, which saves itself, and captions."""

from typing import Any

from flask import Blueprint, jsonify, redirect, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.core.web.fields import Switch
from testimonials.core.web.forms import FormSchema
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import translate
from testimonials.core.web.response_headers import safe_target
from testimonials.dashboard.forms import wants_json
from testimonials.dashboard.guards import require_role
from testimonials.dashboard.notices import add_notice
from testimonials.extensions import db
from testimonials.media.removal import remove_recording
from testimonials.projects.access import Access, Role
from testimonials.testimonials.fields import Transcript
from testimonials.testimonials.moderation.services import (
    ActionRefused,
    edit_testimonial,
    find_testimonial,
)
from testimonials.testimonials.recordings.captions import (
    CAPTIONS_LENGTH,
    CaptionsRefused,
    clean_captions,
)

recording = Blueprint("recording", __name__)


class TranscriptForm(FormSchema):
    """What is said, and whether the card shows it."""

    transcript = Transcript(load_default="")
    shows_transcript = Switch(load_default=False)


@recording.post("/dashboard/projects/<project_id>/testimonials/<testimonial_id>/transcript")
@require_role(Role.MODERATOR, for_update=True)
def save_transcript(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Save the transcript, and captions if a file came with it."""
    row = find_testimonial(access.project, testimonial_id)
    sent = TranscriptForm().read(request.form)
    if sent.errors:
        raise ActionRefused(" ".join(words for each in sent.errors.values() for words in each))
    edit_testimonial(access.project, row, sent.values | _read_captions(), access.user.email)
    db.session.commit()
    if wants_json():
        return jsonify({"ok": True, "text": row.text, "hasCaptions": bool(row.captions)})
    return redirect(add_notice(_return_target(), _("Saved"), None), 303)


@recording.post("/dashboard/projects/<project_id>/testimonials/<testimonial_id>/recording/remove")
@require_role(Role.MODERATOR, for_update=True)
def remove(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Remove the recording for good; its words stay."""
    # Before anything is refused: the page for that reads the form, which may be too large.
    back = _return_target()
    row = find_testimonial(access.project, testimonial_id)
    remove_recording(access.project, row, access.user.email)
    db.session.commit()
    return redirect(add_notice(back, _("Recording removed"), None), 303)


@recording.errorhandler(ActionRefused)
def show_refusal(error: ActionRefused) -> ResponseReturnValue:
    db.session.rollback()
    if wants_json():
        return jsonify({"message": error.shown}), error.status
    return redirect(add_notice(_return_target(), error.shown, None), 303)


def _read_captions() -> dict[str, Any]:
    """Return the captions that were sent or are to be removed, if either."""
    if "remove_captions" in request.form:
        return {"captions": None}
    file = request.files.get("captions")
    if file is None or not file.filename:
        return {}
    try:
        text = file.stream.read(4 * CAPTIONS_LENGTH + 1).decode("utf-8")
        if len(text) > CAPTIONS_LENGTH:
            raise CaptionsRefused(
                _("Captions may have at most %(most)s characters.", most=CAPTIONS_LENGTH)
            )
        return {"captions": clean_captions(text)}
    except UnicodeDecodeError:
        raise ActionRefused(_("The captions are not text in UTF-8.")) from None
    except CaptionsRefused as error:
        raise ActionRefused(translate(str(error))) from None


def _return_target() -> str:
    return safe_target(request.form.get("return_to", "")) or url_for("inbox.show_inbox")
