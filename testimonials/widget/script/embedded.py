"""The script that snippets load: the service's own, or the published one on a static host."""

from testimonials.core.urls import published_url, script_url
from testimonials.core.web.languages import LANGUAGES
from testimonials.widget.script.assembly import (
    build_published_script,
    build_script,
    digest_of,
    integrity_of,
)


def find_published_script() -> bytes:
    """Return the script that reads published files."""
    codes = " ".join(language.code for language in LANGUAGES)
    return build_published_script(script_url().removesuffix(name_script()), codes)


def embedded_url(*, is_pinned: bool = False) -> str:
    """Return the URL that snippets load the script from, perhaps that of its current version."""
    digest = digest_of(_find_script()) if is_pinned else ""
    return published_url(f"widget/{name_script(digest)}") or script_url(digest)


def embedded_integrity() -> str:
    """Return the ``integrity`` attribute of the pinned script."""
    return integrity_of(_find_script())


def name_script(digest: str = "") -> str:
    """Return the name of the file of the script, or of the version with this digest."""
    return f"v1{'-' if digest else ''}{digest}.js"


def _find_script() -> bytes:
    return find_published_script() if published_url() else build_script()
