"""Drawing in the process that decodes pictures, with its limits of time and memory."""

import io
import json
from collections.abc import Mapping
from typing import Any

from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.images.uploads import RETRY_AFTER, ImageBusy
from testimonials.core.images.worker import DecoderBusy, LimitsExceeded, Work, decoder


class PictureRefused(ServiceError):
    """What is asked for can't be drawn here; the message says why."""

    status = 422
    code = "PICTURE_REFUSED"
    meaning = "The picture can't be drawn."
    remedy = "Do without: `message` says why."


def run_drawing(work: Work, shown: Mapping[str, Any]) -> bytes:
    """Return the PNG that `work` draws; raises `PictureRefused` and `ImageBusy`."""
    # Don't hold a database connection while waiting for a turn.
    db.session.close()
    try:
        found, content = decoder.run(work, io.BytesIO(json.dumps(shown).encode()))
    except LimitsExceeded:
        raise PictureRefused(gettext_noop("This picture takes too long to draw.")) from None
    except DecoderBusy:
        message = gettext_noop(
            "Many pictures are being drawn right now. Try again in a few seconds."
        )
        raise ImageBusy(message, headers={"Retry-After": str(RETRY_AFTER)}) from None
    if letters := found.get("letters"):
        raise PictureRefused(
            gettext_noop(
                "This server has no font for some of the letters: %(letters)s. Its operator can "
                "install one, such as Debian’s fonts-noto-core."
            ),
            values={"letters": letters},
        )
    return content
