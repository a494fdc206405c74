"""An author's photo, kept while the rest of the form has errors.

A bad photo never loses the text: only its own field has an error, and the form can be sent without.
"""

from collections.abc import Mapping

from sqlalchemy import inspect
from werkzeug.datastructures import FileStorage

from testimonials.core.data.identifiers import new_identifier
from testimonials.core.pictures.images import AVATAR, MEGABYTE, Image, ImageRefused, read_image
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import gettext_noop
from testimonials.core.web.rate_limits import Limit
from testimonials.core.web.signing import TokenPurpose
from testimonials.extensions import db
from testimonials.projects.models import Project

# The server's limit, so that the text arrives even if the photo is too large.
UPLOAD_FORM_BYTES = 16 * MEGABYTE
PHOTOS_PER_ADDRESS = Limit("submission-photo-ip", 60, "from one IP address", for_load=True)
# Shorter than unused pictures are kept (testimonials/unused_pictures.py).
KEPT_SECONDS = 40 * 60 * 60

GONE = gettext_noop("The photo is no longer stored. Choose it again, or send without it.")
TOO_MANY = gettext_noop(
    "Too many photos came from your network. Send without it, or try again in an hour."
)
TOO_LARGE = gettext_noop(
    "The photo is too large: the limit is 10 MB. The rest of the form was not read either. Go back "
    "in your browser to find what you typed, and choose a smaller photo."
)

kept_purpose = TokenPurpose("collection-photo")


def collects_photo(project: Project) -> bool:
    return bool(project.page_config["collectFields"].get("avatar"))


def is_new_photo(form: Mapping[str, str], file: FileStorage | None) -> bool:
    return not form.get("without_photo") and file is not None and bool(file.filename)


def read_photo(project: Project, form: Mapping[str, str], file: FileStorage | None) -> Image | None:
    """Return the uploaded photo, or the kept one that the form names.

    Raises `ImageRefused` and `ImageBusy`.
    """
    if is_new_photo(form, file) and file is not None:
        image = read_image(file.stream, AVATAR)
        image.id = new_identifier()
        return image
    kept = form.get("kept_photo", "")
    if not kept or form.get("without_photo") or form.get("drop_photo"):
        return None
    return _find_kept(project, kept)


def store_photo(photo: Image | None) -> None:
    """Store the photo, unless it is stored already."""
    if photo is not None and inspect(photo).transient:
        db.session.add(photo)
        db.session.flush()


def make_kept_token(project: Project, photo: Image | None) -> str:
    """Return the token by which a form names a stored photo."""
    return kept_purpose.sign([project.id, photo.id]) if photo else ""


def _find_kept(project: Project, token: str) -> Image:
    project_id, image_id = kept_purpose.find(token, 2, KEPT_SECONDS) or (None, None)
    image = db.session.get(Image, image_id) if project_id == project.id else None
    if image is None:
        raise ImageRefused(_(GONE))
    return image
