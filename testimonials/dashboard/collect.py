"""Collect: asking customers by email, with previews and undo, and what to share."""

import io
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from typing import Any, ClassVar

from flask import g, jsonify, request, url_for
from flask.typing import ResponseReturnValue
from marshmallow import ValidationError

from testimonials.analytics.reports import count_visitors
from testimonials.auth.models import Account
from testimonials.collection import requests
from testimonials.collection.address_lists import (
    MAX_FILE_BYTES,
    MAX_PEOPLE,
    AddressList,
    Person,
    read_csv,
    read_pasted,
    write_table,
)
from testimonials.collection.events import REQUESTS_CANCELLED, REQUESTS_SENT
from testimonials.collection.forms import list_forms
from testimonials.collection.models import MailedRequest, RequestBatch
from testimonials.collection.request_mail import (
    SUBJECT_LENGTH,
    fill_fields,
    has_stars,
    suggest_texts,
)
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.csv_rows import TableUnreadable
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import collect
from testimonials.core.http.errors import ValidationFailed, answer_errors
from testimonials.core.http.fields import Choice, OneLine, QueryCount, RuleField, Text
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import (
    ENGLISH,
    LANGUAGES,
    find_language,
    format_day,
    gettext_noop,
    ngettext,
    translate,
)
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.urls import collection_page_url
from testimonials.core.images.colors import colour_of, initials_of
from testimonials.core.settings.table import current_settings
from testimonials.dashboard.asked import describe_person
from testimonials.dashboard.framework import (
    Done,
    ProjectPage,
    UndoForm,
    Values,
    lock_account_first,
    require_role,
)
from testimonials.projects.access import Access, Role
from testimonials.projects.defaults import SLUG_LENGTH
from testimonials.projects.models import Project

NEVER, NOW = "never", "0"
DEFAULT_REMINDER = "5"
# A file of 1 MB, and 500 people with long names in the text field.
FORM_BYTES = MAX_FILE_BYTES + 1024 * 1024
# How many of the people asked are listed on the page.
NEWEST = 5
# The number of requests left for the day is mentioned if it is lower than this.
FEW = 20
VISIT_DAYS = 30
# How many people the preview without a script lists.
LISTED = 10
COLUMNS = {
    "email": gettext_noop("Email"),
    "name": gettext_noop("Name"),
    "company": gettext_noop("Company"),
    "order": gettext_noop("Order number"),
}
TOO_LARGE = gettext_noop(
    "The file is too large: the limit is 1 MB. Go back to find what you typed, and choose a "
    "smaller file."
)


class PastedList(RuleField):
    """Pasted addresses or a pasted table; loads as an `AddressList`."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> AddressList:
        try:
            return read_pasted(value)
        except TableUnreadable as error:
            raise ValidationError(str(error)) from None


class ListForm(FormSchema):
    people = PastedList(load_default=AddressList)
    max_bytes = FORM_BYTES
    too_large: ClassVar = {"people": TOO_LARGE}


class AskForm(ListForm):
    subject = OneLine(SUBJECT_LENGTH, required=True)
    message = Text(requests.MESSAGE_LENGTH, required=True)
    language = Choice(
        *(language.code for language in LANGUAGES),
        missing=gettext_noop("Choose one of the options."),
    )
    form = OneLine(SLUG_LENGTH, load_default="")
    wait = Choice(*map(str, requests.WAITS), load_default=NOW)
    reminder = Choice(
        NEVER,
        *map(str, requests.REMINDERS),
        missing=gettext_noop("Choose one of the options."),
    )


class FileForm(ListForm):
    """The columns of a file, if somebody chose them."""

    email = QueryCount(0)
    name = QueryCount(0)
    company = QueryCount(0)
    order = QueryCount(0)


collect_page = ProjectPage(collect, "collect", "collect/collect.html")
# What buttons show: a preview without a script, and the contents of a file.
preview_page = ProjectPage(collect, "", "collect/preview.html")
file_page = ProjectPage(collect, "", "collect/file.html")


@collect_page.show
def show_collect(access: Access) -> Values:
    project = access.project
    people, _page, counts = requests.list_asked(project, None, 1, NEWEST)
    g.has_preview = True
    return {
        "typed": suggest_values(access),
        "is_active": project.is_active,
        "counts": counts,
        "asked": list(map(describe_person, people)),
        **describe_choices(project),
        **describe_mail(project),
        **describe_page(project),
    }


@collect_page.save(AskForm, lock_first=lock_account_first)
def send_requests(access: Access, **values: Any) -> Done:
    """Ask everybody on the list, unless that is undone within 30 seconds."""
    project, listed, wait = access.project, values["people"], int(values["wait"])
    batch = make_batch(access, values)
    count = requests.ask_people(
        project, batch, listed, access.user.email, wait, grace=requests.GRACE
    )
    record(REQUESTS_SENT, project, count=count)
    undo, undo_url = batch.id, url_for(".undo_sending")
    return Done(sent_text(count, wait), to=url_for(".show_asked"), undo=undo, undo_url=undo_url)


@collect_page.save(UndoForm, at="/undo")
def undo_sending(access: Access, undo: str) -> Done:
    """Cancel the emails that have not been sent, and fill in the form again."""
    people, sent = requests.cancel_sending(access.project, undo)
    if people:
        record(REQUESTS_CANCELLED, access.project, count=len(people))
    typed = suggest_values(access) | {"people": write_table(people) if people else ""}
    if (batch := requests.find_batch(access.project, undo)) is not None:
        reminder = batch.remind_after_days
        typed |= {"subject": batch.subject, "message": batch.message, "language": batch.language}
        typed |= {"reminder": NEVER if reminder is None else str(reminder)}
    shown = {"typed": typed, "notice": {"text": undone_text(len(people), sent)}}
    return Done(page=collect_page, shown=shown)


@collect_page.save(AskForm, at="/preview")
def preview_requests(access: Access, **values: Any) -> Done:
    """Show who would get which email, if there is no script or the list is a file."""
    project, lists = access.project, [values["people"], read_table(read_file())]
    batch = make_batch(access, values)
    people, left_out = requests.choose_people(project, lists)
    first = people[0]
    row = MailedRequest(email=first.email, name=first.name, company=first.company or None)
    shown = {
        "people": people,
        "listed": LISTED,
        "subject": batch.subject,
        "message": fill_fields(batch.message, project, row),
        "sent": values | {"people": write_table(people)},
    }
    shown |= describe_list(lists, left_out) | describe_mail(project, first)
    return Done(page=preview_page, shown=shown)


@collect_page.save(FileForm, at="/file")
def show_file(access: Access, people: AddressList, **chosen: int | None) -> Done:
    """Show the people in a file, and how its columns are read."""
    places = {name: place for name, place in chosen.items() if place is not None}
    content = read_file()
    try:
        uploaded = read_table(content, places)
    except ValidationFailed:
        # If no column of addresses is recognized, the person chooses one.
        uploaded = read_table(content, {"email": 0})
    fresh, left_out = requests.sort_people(access.project, uploaded.people)
    columns = {
        name: (translate(label), uploaded.columns.get(name)) for name, label in COLUMNS.items()
    }
    shown = {"people": fresh, "table": write_table(uploaded.people), "columns": columns}
    return Done(
        page=file_page,
        shown=shown | {"head": uploaded.head} | describe_list([uploaded], left_out),
    )


@collect.post("/dashboard/projects/<project_id>/collect/check")
@require_role(Role.ADMIN)
def check_people(access: Access) -> ResponseReturnValue:
    """Return which addresses of a pasted list can be asked, and why others can't."""
    sent = ListForm().read()
    if sent.errors:
        return answer_errors(sent.errors)
    return jsonify(ok=True, people=describe_chips(access.project, sent.values["people"]))


def describe_choices(project: Project) -> Values:
    """Return the form's options, and what could prevent sending."""
    reminders = [
        (str(days), ngettext("After %(num)s day", "After %(num)s days", days))
        for days in requests.REMINDERS
    ]
    room = requests.count_room(project.account_id)
    return {
        "languages": [(language.code, language.name) for language in LANGUAGES],
        "waits": [(str(days), name_wait(days)) for days in requests.WAITS],
        "reminders": [*reminders, (NEVER, _("Never"))],
        "forms": [
            ("", _("Main page")),
            *((form.name, form.title) for form in list_forms(project)),
        ],
        "room": room if room < FEW else None,
        "most": MAX_PEOPLE,
        "has_mail_server": bool(current_settings().smtp_url),
        "may_ask": current_settings().invitations_per_day > 0,
    }


def name_wait(days: int) -> str:
    if days < 2:
        return _("Tomorrow") if days else _("Now")
    return ngettext("In %(num)s day", "In %(num)s days", days)


def describe_page(project: Project) -> Values:
    url = collection_page_url(project.slug, project.own_host)
    scheme, _colon, label = url.partition("://")
    opened, wrote = count_visitors(project, VISIT_DAYS)
    visits = [ngettext("Opened by %(num)s in 30 days", "Opened by %(num)s in 30 days", opened)]
    visits += [ngettext("%(num)s wrote", "%(num)s wrote", wrote)] if wrote else []
    return {
        "page_url": url,
        "page_scheme": f"{scheme}://",
        "page_label": label,
        "visits": " · ".join(visits) if opened else _("Not opened in 30 days"),
    }


def describe_mail(project: Project, person: Person | None = None) -> Values:
    """Return what the preview of the email shows in addition to its text."""
    account = db.session.get_one(Account, project.account_id)
    return {
        "theme_css_url": url_for("collection.get_theme", slug=project.slug),
        "reply_to": account.email,
        "recipient": person.email if person else "",
        "has_stars": has_stars(project),
    }


def describe_list(lists: Sequence[AddressList], left_out: Sequence[requests.LeftOut]) -> Values:
    """Return the invalid lines of the lists, and who is left out."""
    return {
        "wrong": [
            (_("Line %(line)s", line=wrong.line), wrong.text, translate(wrong.reason))
            for addresses in lists
            for wrong in addresses.wrong
        ],
        "left_out": [(one.person.email, left_out_text(one)) for one in left_out],
    }


def describe_chips(project: Project, listed: AddressList) -> list[Values]:
    """Return the people on a list, and its invalid lines."""
    fresh, left_out = requests.sort_people(project, listed.people)
    return [
        *map(describe_chip, fresh),
        *(describe_chip(one.person, left_out_text(one)) for one in left_out),
        *(
            {"text": wrong.text, "reason": translate(wrong.reason), "is_wrong": True}
            for wrong in listed.wrong
        ),
    ]


def describe_chip(person: Person, reason: str = "") -> Values:
    """Return a person for the script, with the line of a `table` to send back."""
    name = person.name or person.email
    return {
        "text": name,
        "email": person.email,
        "name": person.name,
        "table": write_table([person]).partition("\n")[2],
        "initials": initials_of(name),
        "colour": colour_of(name) % 8,
        "reason": reason,
    }


def left_out_text(left_out: requests.LeftOut) -> str:
    if left_out.reason == requests.UNSUBSCRIBED or left_out.has_declined:
        return _("said no")
    if left_out.asked_at is not None:
        return _("asked on %(day)s", day=format_day(left_out.asked_at, "long", has_year=False))
    return translate(left_out.reason)


def sent_text(count: int, wait_days: int) -> str:
    if not current_settings().smtp_url:
        return ngettext(
            "One request noted, but not sent: this service has no mail server",
            "%(num)s requests noted, but not sent: this service has no mail server",
            count,
        )
    if not wait_days:
        return ngettext(
            "%(num)s mail goes out in 30 seconds", "%(num)s mails go out in 30 seconds", count
        )
    return ngettext(
        "%(num)s mail goes out on %(day)s",
        "%(num)s mails go out on %(day)s",
        count,
        day=format_day(clock.now() + timedelta(days=wait_days), "long", has_year=False),
    )


def undone_text(count: int, sent: Sequence[str]) -> str:
    """Return a notice: how many emails were cancelled, and who had already been `sent` one."""
    if not count:
        return _("Too late: all emails have gone out.")
    if not sent:
        return _("Nothing was sent")
    names = ", ".join(sent[:3]) + ("…" if len(sent) > 3 else "")
    return _("The others were cancelled. Already sent: %(names)s.", names=names)


def suggest_values(access: Access) -> dict[str, str]:
    subject, message = _suggest(access, ENGLISH.code)
    return {
        "subject": subject,
        "message": message,
        "language": ENGLISH.code,
        "reminder": DEFAULT_REMINDER,
        "wait": NOW,
    }


def make_batch(access: Access, values: Values) -> RequestBatch:
    """Return the message as a row that isn't stored; raise `ValidationFailed` without people.

    A suggested text that was not changed is replaced by the one in the chosen language.
    """
    if values["people"].is_empty and not request.files.get("file"):
        problem = _("Enter at least one email address, or choose a file.")
        raise ValidationFailed.of({"people": [problem]})
    subject, message = _follow_language(access, values)
    reminder = values["reminder"]
    return RequestBatch(
        subject=subject,
        message=message,
        language=values["language"],
        form_name=values["form"] or None,
        remind_after_days=None if reminder == NEVER else int(reminder),
    )


def read_file() -> bytes:
    with closing(request.files.get("file") or io.BytesIO()) as file:
        return bytes(file.read())


def read_table(content: bytes, columns: Mapping[str, int] | None = None) -> AddressList:
    """Return the people in a file; raise `ValidationFailed`."""
    if not content:
        return AddressList()
    try:
        return read_csv(content, columns)
    except TableUnreadable as error:
        raise ValidationFailed.of({"file": [translate(str(error))]}) from None


def _follow_language(access: Access, values: Values) -> tuple[str, str]:
    language = find_language(values["language"]) or ENGLISH
    translated = _suggest(access, language.code)
    suggested = [_suggest(access, language.code) for language in LANGUAGES]
    subject, message = (
        translated[place] if text in [texts[place].strip() for texts in suggested] else text
        for place, text in enumerate((values["subject"], values["message"]))
    )
    return subject, message


def _suggest(access: Access, language: str) -> tuple[str, str]:
    return suggest_texts(access.project, language, access.user.display_name or "")
