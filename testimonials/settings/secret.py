"""The secret key that an instance generates at its first start."""

import os
import secrets
from pathlib import Path

import click


class SettingError(click.ClickException):
    """A setting is missing, of the wrong type or out of range; the message names it."""


def read_secret_key(path: Path) -> str:
    """Return the secret in the file, which is made atomically, with mode 0600, if it is missing.

    Raises `SettingError`.
    """
    draft = path.with_name(f".secret_key.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        if not path.exists():
            with os.fdopen(
                os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w"
            ) as file:
                file.write(secrets.token_urlsafe(48) + "\n")
                file.flush()
                os.fsync(file.fileno())
            try:
                # Unlike a rename, a link never replaces what another start has just made.
                os.link(draft, path)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        key = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(
            f"TESTIMONIALS_SECRET_KEY is not set, and {path} can't be used: {error}"
        ) from None
    if len(key) < 32:
        raise SettingError(
            f"{path} must contain a secret of at least 32 characters; restore it or remove it"
        )
    return key
