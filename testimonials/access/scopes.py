"""The scopes of access tokens, in the words of every page, document and error."""

from enum import StrEnum


class Scope(StrEnum):
    """What an access token may do. `label` and `sentence` are what people read."""

    label: str
    sentence: str

    def __new__(cls, name: str, label: str = "", sentence: str = "") -> "Scope":
        member = str.__new__(cls, name)
        member._value_, member.label, member.sentence = name, label, sentence
        return member

    READ = "read", "Read", "See testimonials, also pending ones, and settings."
    DRAFT = "draft", "Draft", "Suggest additions and changes. They wait for you."
    PUBLISH = "publish", "Publish", "Add, approve, reject, edit and reply. Shown at once."
    CONFIGURE = (
        "configure",
        "Configure",
        "Change the widget and the page, ask customers by mail, and have testimonials sent "
        "elsewhere by webhooks.",
    )


DEFAULT_SCOPES = (Scope.READ, Scope.DRAFT)
NEVER = "No token can delete a project, see passwords or make other tokens."
