"""Why a recording is not taken, in the visitor's language."""

from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext_noop

NOT_PLAYABLE = gettext_noop(
    "Browsers can’t play this file. Choose a video in MP4 or WebM, or a voice recording in M4A, "
    "WebM or Ogg."
)
DAMAGED = gettext_noop("The recording is damaged or cut off. Record it again, or choose another.")
TOO_LONG = gettext_noop("The recording is too long: it may have at most %(seconds)s seconds.")
TOO_LARGE = gettext_noop("The file is too large: it may have at most %(limit)s MB.")
HAS_PICTURE = gettext_noop("This is a video, not a voice recording. Send it as a video.")
NOT_TAKEN = gettext_noop("This page takes no recordings.")
NO_ROOM = gettext_noop(
    "There is no room for another recording here at the moment. Write a few words instead."
)
GONE = gettext_noop("This recording is no longer stored. Send it again.")


class RecordingRefused(ServiceError):
    """The file can't be used as a recording."""

    status = 422
    code = "RECORDING_REFUSED"


class RecordingTooLarge(RecordingRefused):
    status = 413
    code = "RECORDING_TOO_LARGE"


class RecordingGone(ServiceError):
    """There is no such upload, or it is sent already."""

    status = 404
    code = "RECORDING_GONE"
    default_message = GONE


class NoRoom(ServiceError):
    """The account's or the service's share for recordings is used up, or the disk is full."""

    status = 507
    code = "NO_ROOM"
    default_message = NO_ROOM


class OffsetWrong(ServiceError):
    """A piece begins elsewhere than where the last one ended, which is at `offset`."""

    status = 409
    code = "OFFSET_WRONG"

    def __init__(self, offset: int) -> None:
        message = f"The next piece begins at {offset}."
        super().__init__(message, headers={"Upload-Offset": str(offset)})
        self.offset = offset
