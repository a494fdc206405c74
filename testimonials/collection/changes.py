"""Changes that may be proposed: to the page, its pictures and forms, and requests by email."""

from collections.abc import Sequence

from marshmallow import fields, validate

from testimonials.auth.email_addresses import Email
from testimonials.auth.tokens import Scope
from testimonials.collection import forms, requests
from testimonials.collection.address_lists import REFERENCE_LENGTH, AddressList, Person
from testimonials.collection.events import FORM_ADDED, FORM_CHANGED, FORM_DELETED, REQUESTS_SENT
from testimonials.collection.models import RequestBatch
from testimonials.collection.request_mail import SUBJECT_LENGTH, suggest_texts
from testimonials.collection.schemas import NAME_LENGTH, FormSchema, FormUpdateSchema
from testimonials.core.audit import record
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.http.fields import Choice, Identifier, OneLine, Parts, StrictSchema, Text
from testimonials.core.http.i18n import ENGLISH, LANGUAGES, gettext_noop
from testimonials.core.settings.table import current_settings
from testimonials.projects.changes import Outcome, Values, change, finish
from testimonials.projects.defaults import SLUG_LENGTH
from testimonials.projects.events import PAGE_CHANGED
from testimonials.projects.models import Project
from testimonials.projects.page_design import PageDesignSchema
from testimonials.projects.projects import make_slug
from testimonials.projects.schemas import PageConfigUpdateSchema
from testimonials.projects.settings import set_picture, update_page_config
from testimonials.projects.widget_design import NumberChoice
from testimonials.testimonials.changes import publish_picture
from testimonials.testimonials.fields import AuthorLine

MAX_ASKED = 100

_FORM = FormSchema()


def _read_page(project: Project, _target: str | None, values: Values) -> Values:
    now = {"businessName": project.business_name} | project.page_config
    asked = project.page_config["collectFields"]
    fields = {name: asked[name] for name in values.get("collectFields", {})}
    return now | {"collectFields": fields}


@change(
    "page",
    title=gettext_noop("change the collection page"),
    schema=PageConfigUpdateSchema,
    scope=Scope.CONFIGURE,
    before=_read_page,
    done="Page updated",
)
def change_page(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    before = project.updated_at
    update_page_config(project, values)
    return finish(project, PAGE_CHANGED, is_changed=project.updated_at != before)


@change(
    "page.design",
    title=gettext_noop("change the page’s questions and look"),
    schema=PageDesignSchema,
    scope=Scope.CONFIGURE,
    before=lambda project, _target, _values: project.whole_page_design,
    done="Page design updated",
)
def change_design(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    return finish(project, PAGE_CHANGED, is_changed=forms.update_page_design(project, values))


class PagePictureSchema(StrictSchema):
    imageId = Identifier(
        attribute="image_id",
        required=True,
        allow_none=True,
        description="An uploaded picture; null removes it.",
    )


def _declare_picture(name: str, title: str) -> None:
    """Declare the change to `logo`, `cover` or `portrait`."""

    @change(
        name,
        title=title,
        schema=PagePictureSchema,
        scope=Scope.CONFIGURE,
        before=lambda project, _target, _values: {"imageId": getattr(project, f"{name}_id")},
        done=f"{name.capitalize()} updated",
    )
    def change_picture(
        project: Project, _target: str | None, values: Values, _actor: str
    ) -> Outcome:
        is_changed = values["image_id"] != getattr(project, f"{name}_id")
        if is_changed:
            set_picture(project, name, publish_picture(project, values["image_id"]))
        return finish(project, PAGE_CHANGED, is_changed=is_changed)


_declare_picture("logo", gettext_noop("change the logo"))
_declare_picture("cover", gettext_noop("change the page’s cover"))
_declare_picture("portrait", gettext_noop("change the face beside the page’s signature"))


class FormNameSchema(StrictSchema):
    name = OneLine(NAME_LENGTH, blank=False, required=True)


class FormChangeSchema(FormUpdateSchema):
    """A form to add, or to change if there is one with this name."""

    name = OneLine(NAME_LENGTH, blank=False, required=True)
    newName = OneLine(
        NAME_LENGTH,
        blank=False,
        attribute="new_name",
        description="Another name for the form, which changes its URL.",
    )


def _read_form(project: Project, _target: str | None, values: Values) -> Values:
    """Return the form as it is now, or nothing if there is none with this name."""
    form = forms.find_named(project, make_slug(values["name"]))
    if form is None:
        return {}
    described: Values = _FORM.dump(forms.describe_form(project, form))
    return described | {"name": values["name"], "newName": form.name}


@change(
    "form",
    title=gettext_noop("add or change a form"),
    schema=FormChangeSchema,
    scope=Scope.CONFIGURE,
    before=_read_form,
    done="Form saved",
)
def save_form(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    changes = {name: value for name, value in values.items() if name not in ("name", "new_name")}
    form = forms.find_named(project, make_slug(values["name"]))
    if form is None:
        if "title" not in values:
            raise ValidationFailed.of({"title": ["A new form needs a title."]})
        form = forms.create_form(project, values)
        record(FORM_ADDED, project, form=form.name)
    else:
        changes |= {"name": values["new_name"]} if "new_name" in values else {}
        if forms.change_form(project, form, changes):
            record(FORM_CHANGED, project, form=form.name)
    return Outcome({"form": form.name}, forms.describe_form(project, form))


@change(
    "form.delete",
    title=gettext_noop("delete a form"),
    schema=FormNameSchema,
    scope=Scope.CONFIGURE,
    before=_read_form,
    done="Form deleted",
)
def remove_form(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    form = forms.find_form(project, values["name"])
    forms.delete_form(project, form)
    record(FORM_DELETED, project, form=form.name)
    return Outcome({"form": form.name})


class PersonSchema(StrictSchema):
    email = Email(required=True)
    name = AuthorLine(load_default="")
    company = AuthorLine(load_default="")
    order = OneLine(
        REFERENCE_LENGTH,
        load_default="",
        description="Your reference for a purchase. What they write after following the link in "
        "the email is then marked “Verified customer”.",
    )


class RequestSchema(StrictSchema):
    people = Parts(
        fields.Nested(PersonSchema),
        required=True,
        validate=validate.Length(1, MAX_ASKED, error=f"Must be 1 to {MAX_ASKED} people."),
    )
    subject = OneLine(SUBJECT_LENGTH, blank=False, description="Default: the suggested one.")
    message = Text(
        requests.MESSAGE_LENGTH,
        blank=False,
        description="Default: the suggested one. `{first_name}`, `{name}`, `{company}` and "
        "`{business}` are replaced for each person, or removed if unknown.",
    )
    language = Choice(
        *(language.code for language in LANGUAGES),
        load_default=ENGLISH.code,
        description="The language of the email.",
    )
    form = OneLine(
        SLUG_LENGTH,
        attribute="form_name",
        description="The name of the form to open; by default the project’s own page.",
    )
    sendAfterDays = NumberChoice(
        *requests.WAITS,
        attribute="wait_days",
        load_default=0,
        description="How many days to wait before sending the emails.",
    )
    remindAfterDays = NumberChoice(
        *requests.REMINDERS,
        attribute="remind_after_days",
        allow_none=True,
        load_default=None,
        description="null for no reminder.",
    )


@change(
    "request",
    title=gettext_noop("ask customers by email"),
    schema=RequestSchema,
    scope=Scope.CONFIGURE,
    done="Requests accepted",
)
def ask(project: Project, _target: str | None, values: Values, actor: str) -> Outcome:
    """Ask people by email; first the account and then the project are locked."""
    subject, message = suggest_texts(project, values["language"])
    listed = AddressList(_list_people(values))
    _, left_out = requests.choose_people(project, [listed])
    batch = RequestBatch(
        subject=values.get("subject", subject),
        message=values.get("message", message),
        language=values["language"],
        form_name=values.get("form_name"),
        remind_after_days=values["remind_after_days"],
    )
    count = requests.ask_people(project, batch, listed, actor, values.get("wait_days", 0))
    record(REQUESTS_SENT, project, count=count)
    return Outcome({"count": count}, _describe_asked(count, left_out))


def describe_if_nobody_left(project: Project, values: Values) -> Values | None:
    """Return the answer if everybody was asked before or has unsubscribed, else None."""
    fresh, left_out = requests.sort_people(project, _list_people(values))
    return None if fresh else _describe_asked(0, left_out)


def _list_people(values: Values) -> list[Person]:
    return [Person(number, **each) for number, each in enumerate(values["people"], 1)]


def _describe_asked(count: int, left_out: Sequence[requests.LeftOut]) -> Values:
    """Return what `AskedSchema` describes."""
    skipped = [{"email": each.person.email, "reason": each.reason} for each in left_out]
    has_server = bool(current_settings().smtp_url)
    return {"count": count, "leftOut": skipped, "hasMailServer": has_server}
