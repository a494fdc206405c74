"""The scopes of access tokens, in the words of every page, document and error."""

from enum import StrEnum

from testimonials.core.http.i18n import gettext_noop


class Scope(StrEnum):
    """What an access token may do. `label` and `sentence` are what people read."""

    label: str
    sentence: str

    def __new__(cls, name: str, label: str = "", sentence: str = "") -> "Scope":
        member = str.__new__(cls, name)
        member._value_, member.label, member.sentence = name, label, sentence
        return member

    READ = (
        "read",
        gettext_noop("Read"),
        gettext_noop("See testimonials, also pending ones, and settings."),
    )
    DRAFT = (
        "draft",
        gettext_noop("Draft"),
        gettext_noop("Suggest additions and changes. They wait for you."),
    )
    PUBLISH = (
        "publish",
        gettext_noop("Publish"),
        gettext_noop("Add, approve, reject, edit and reply. Shown at once."),
    )
    CONFIGURE = (
        "configure",
        gettext_noop("Configure"),
        gettext_noop(
            "Change the widget and the page, ask customers by mail, and have testimonials sent "
            "elsewhere by webhooks."
        ),
    )


DEFAULT_SCOPES = (Scope.READ, Scope.DRAFT)
NEVER = gettext_noop("No token can delete a project, see passwords or make other tokens.")
