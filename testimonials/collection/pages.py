"""The collection page, its thanks, policy and pictures, and what an emailed request links to.

A GET changes nothing, since mail scanners open links; mail programs send the one-click POST
themselves (RFC 8058).
"""

from collections import Counter
from functools import partial
from typing import Any

from flask import Response, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import and_, delete, exists, func, literal, select, update

from testimonials.collection import author_rights, page_data, request_mail
from testimonials.collection.context import Context, resolve
from testimonials.collection.images import pictures
from testimonials.collection.models import MailedRequest, UnsubscribedAddress
from testimonials.collection.page_data import describe_page
from testimonials.collection.storing import announce, is_theirs, keep_files, store
from testimonials.collection.submission import (
    LONGEST_TOKEN,
    MailMeForm,
    Submission,
    fill_in,
    may_mail,
    parse,
)
from testimonials.core import clock
from testimonials.core.audit import Event
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import collection
from testimonials.core.http.errors import NotFound, RateLimited
from testimonials.core.http.fields import Text
from testimonials.core.http.forms import FormSchema, read_unsent_form
from testimonials.core.http.i18n import (
    PARAMETER,
    asked_language,
    current_language,
    format_number,
    gettext_noop,
    language_query,
)
from testimonials.core.http.security import answer_privately
from testimonials.core.http.static import compress
from testimonials.core.http.urls import policy_url
from testimonials.core.images.colors import derive_colors
from testimonials.core.mail.outbox import FONTS, MailState, OutboxMail
from testimonials.projects.brand import find_brand, find_button, page_color
from testimonials.projects.models import Project, Suspension
from testimonials.projects.page_design import write_offer
from testimonials.projects.projects import find_public_project, lock_account
from testimonials.testimonials.counts import count_where, read_numbers
from testimonials.testimonials.models import OVERDUE_DAYS, REASONS, Testimonial, TestimonialCount
from testimonials.testimonials.moderation import find_testimonial
from testimonials.testimonials.record import count_gone, count_gone_before
from testimonials.widget.container import WHOLE
from testimonials.widget.render import page_styles
from testimonials.widget.selection import read_content
from testimonials.widget.settings import find_settings, list_saved, read_settings
from testimonials.widget.wall import redirect_renamed
from testimonials.widget.words import write_dates


def write_theme(project: Project) -> str:
    """Return a style sheet with the page's colors, font and cover focus.

    These pages allow no inline styles.
    """
    focus, button = project.whole_page_design["coverFocus"], find_button(project)
    colors = derive_colors(page_color(project))
    names = {
        "accent": "accent",
        "solid": "solid",
        "on-solid": "on",
        "soft": "soft",
        "on-soft": "text",
    }
    derived = [
        f"--{own}:light-dark({colors.light[name]},{colors.dark[name]})"
        for own, name in names.items()
    ]
    # These are at the root, where the editor's preview overrides them.
    color, text = map(_write_pair, button.light, button.dark)
    chosen = f"--tm-button:{color};--tm-button-text:{text};--tm-focus:{focus['x']}% {focus['y']}%"
    if font := FONTS.get(find_brand(project).typeface):
        # Not at the root, since the owner's page of requests shows only the email in this font.
        derived.append(f"--font:{font}")
    return f":root{{{chosen}}}.page-collection{{{';'.join(derived)}}}"


def _write_pair(light: str, dark: str) -> str:
    return light if light == dark else f"light-dark({light},{dark})"


# The page on which visitors write, at ``{app_url}/<slug>``.

collection.register_error_handler(NotFound, redirect_renamed)


@collection.get("/<slug>")
@collection.get("/<slug>/f/<form_name>")
def show_collection_page(slug: str, form_name: str = "") -> ResponseReturnValue:
    """Show a form, or say that the project is paused."""
    context = resolve(slug, form_name)
    if not context.is_open:
        return _paused(context.project)
    page = _form(context, fill_in(context, request))
    # It may show a customer's name and address.
    return answer_privately(page) if context.asked or context.purchase else page


@collection.post("/<slug>")
@collection.post("/<slug>/f/<form_name>")
def submit_testimonial(slug: str, form_name: str = "") -> ResponseReturnValue:
    """Store a submission once and redirect to the thank-you page, even for spam."""
    context = resolve(slug, form_name)
    if not context.is_open:
        return _paused(context.project), 409
    sent = parse(context, request)
    if sent.errors:
        # The files are kept, so that they needn't be uploaded again.
        if sent.photo is not None or sent.recording is not None:
            with write():
                keep_files(context, sent)
        return _form(context, sent), 422
    with write(context.lock) as context:
        row, is_new = store(context, sent)
        if is_new:
            announce(context, sent, row)
    query = {"yours": author_rights.make_author_token(row)} if is_theirs(sent, row) else {}
    return redirect(url_for(".show_thanks", slug=slug, **query | language_query()), 303)


@collection.get("/<slug>/thanks")
def show_thanks(slug: str) -> ResponseReturnValue:
    """Thank the visitor and show what they wrote, with the next steps; safe to reload."""
    project = find_public_project(slug=slug)
    token = request.args.get("yours", "")
    own = author_rights.find_in_project(project, token)
    if own is None:
        return render_template("collection/thanks.html", **page_data.describe_thanks(project))
    values = page_data.describe_thanks(project, own.row) | {
        "token": token,
        "own_url": author_rights.make_author_url(project, token, current_language().code),
        "mailed": request.args.get("mailed", ""),
    }
    return answer_privately(render_template("collection/thanks.html", **values))


@collection.post("/<slug>/thanks")
def mail_own_link(slug: str) -> ResponseReturnValue:
    """Email the author their link, to an address that isn't stored."""
    project = find_public_project(slug=slug)
    sent = MailMeForm().read(request.form).values
    token, email = sent.get("yours", ""), sent.get("email")
    own = author_rights.find_in_project(project, token)
    is_sent = own is not None and may_mail(email)
    if own is not None and is_sent:
        with write():
            author_rights.send_author_mail(project, own.row, email)
    query = {"yours": token, "mailed": "yes" if is_sent else "no", **language_query()}
    return redirect(url_for(".show_thanks", slug=slug, **query), 303)


@collection.get("/<slug>/recorder")
def get_recorder(slug: str) -> str:
    """Return the part of the page that the script loads when somebody wants to record."""
    find_public_project(slug=slug)
    return render_template("collection/_recorder.html")


@collection.get("/<slug>/theme.css")
def get_theme(slug: str) -> Response:
    return _send_styles(write_theme(find_public_project(slug=slug)))


@collection.get("/<slug>/card.css")
def get_card_styles(slug: str) -> Response:
    """Serve the widget's styles for the finished card."""
    settings = find_settings(find_public_project(slug=slug))
    return _send_styles(page_styles(settings, "", "single", 1, has_extras=True))


@collection.get("/<slug>/share.png")
def get_share_picture(slug: str) -> Response:
    """Serve the picture for shared links, redrawn if the page has changed."""
    project = find_public_project(slug=slug)
    picture = pictures.describe_page_picture(project)
    content = pictures.fetch_share_picture(picture)
    return pictures.send_picture(picture.fingerprint, content, max_age=300)


@collection.get("/<slug>/<testimonial_id>/picture.png")
def get_shared_picture(slug: str, testimonial_id: str) -> ResponseReturnValue:
    """Serve the picture of a testimonial, or the page's if it can't be drawn."""
    project = find_public_project(slug=slug)
    row = find_testimonial(project, testimonial_id)
    picture = pictures.describe_picture(project, row)
    try:
        content = pictures.fetch_picture(picture, pictures.DRAWINGS)
    except (pictures.PictureRefused, RateLimited):
        return redirect(url_for(".get_share_picture", slug=slug))
    return pictures.send_picture(picture.fingerprint, content, max_age=300)


def _paused(project: Project) -> str:
    values = page_data.describe_page(project) | {
        "unsent": read_unsent_form(),
        "is_suspended": project.suspension is not Suspension.NONE,
    }
    return render_template("collection/paused.html", **values)


def _form(context: Context, sent: Submission) -> str:
    values = page_data.describe_form(context, sent)
    g.takes_recordings = values["record"] is not None
    return render_template("collection/page.html", **values)


def _send_styles(styles: str) -> Response:
    response = Response(styles, mimetype="text/css")
    response.headers["Cache-Control"] = "public, no-cache"
    response.add_etag()
    response.make_conditional(request)
    return compress(response)


@collection.get("/<slug>/how-we-collect")
def show_policy(slug: str) -> str:
    """Show how the project collects testimonials."""
    project = find_public_project(slug=slug)
    url, language = policy_url(project.slug, project.own_host), asked_language()
    page = page_data.describe_page(project) | {
        "canonical": f"{url}?{PARAMETER}={language.code}" if language else url
    }
    return render_template("collection/policy.html", **page, **describe_collecting(project))


def describe_collecting(project: Project) -> dict[str, Any]:
    shown, numbers = _count_shown(project), read_numbers(project)
    widgets = [read_settings(project), *map(read_settings, list_saved(project))]
    contents = [read_content(each.design, WHOLE) for each in widgets]
    samples = (TestimonialCount.status == "demo", ~TestimonialCount.is_deleted)
    counted = _count_received(project, has_gone=bool(shown["reasons"]))
    end = project.numbers_from if numbers.is_old else None
    return {
        "is_open": project.is_open,
        "has_orders": bool(shown["verified"] or project.purchase_secret),
        "published": shown,
        "numbers": numbers,
        "least_stars": max(each.min_rating for each in contents),
        "picks": any(each.tags or each.min_length or each.is_only_chosen for each in contents),
        "has_samples": count_where(project.id, *samples) > 0,
        "old_until": end and write_dates([end.date().isoformat()], "absolute", is_long=True)[0],
        "counted": counted,
        "overdue_days": OVERDUE_DAYS,
        "is_aside": bool(shown["reasons"] or counted.keys() & set(REASONS)),
        "rewards": [
            {"offer": write_offer(step), "until": step["last_day"]}
            for step in page_data.describe_steps(project.open_steps if project.is_open else [])
            if step["kind"] == "code"
        ],
        "asks_insider": project.whole_page_design["asksInsider"],
    }


def _count_shown(project: Project) -> dict[str, int]:
    """Count public testimonials, without samples, by their marks.

    Also return whether anybody was `asked` by email, and whether anything was ever set aside
    (`reasons`).
    """
    row = Testimonial
    conditions = {
        "all": row.id.is_not(None),
        "verified": row.purchase_verified_at.is_not(None),
        "mailed": and_(
            row.purchase_verified_at.is_not(None),
            exists().where(MailedRequest.testimonial_id == row.id),
        ),
        "insider": row.is_insider,
        "rewarded": row.is_rewarded,
        "translated": row.translated_from.is_not(None),
        "edited": and_(row.translated_from.is_(None), row.original_text != row.text),
    }
    facts = {
        "asked": exists().where(MailedRequest.project_id == project.id),
        "reasons": exists().where(Event.project_id == project.id, Event.reason.is_not(None)),
    }
    counts = (func.count().filter(each) for each in conditions.values())
    query = select(*counts, *(select(each).scalar_subquery() for each in facts.values())).where(
        row.project_id == project.id,
        row.is_visible,
        row.status != "demo",
        literal(project.is_active),
    )
    values = map(int, db.session.execute(query).one())
    return dict(zip((*conditions, *facts), values, strict=True))


def _count_received(project: Project, *, has_gone: bool) -> dict[str, str]:
    """Count genuine testimonials by source, and the others by standing.

    Those that were set aside count even after they were deleted, by their entries in the record.
    """
    row, counts = TestimonialCount, Counter[str]()
    key = (row.standing, row.source)
    query = select(*key, func.sum(row.number)).where(row.project_id == project.id).group_by(*key)
    for standing, source, number in db.session.execute(query):
        counts[source if standing == "genuine" else standing] += int(number)
    if has_gone:
        counts.update(count_gone(project.id))
    counts.update(count_gone_before(project.id))
    return {name: format_number(number) for name, number in counts.items() if number}


LINK_GONE = gettext_noop(
    "The account that asked you was deleted. You won’t get more email from it."
)


class InvitationForm(FormSchema):
    """The token of an emailed link."""

    invitation = Text(LONGEST_TOKEN)


# These two are called by the page's script.


@collection.post("/<slug>/opened")
def note_opened(slug: str) -> ResponseReturnValue:
    """Store that an emailed link was opened."""
    return _note(slug, "opened_at")


@collection.post("/<slug>/started")
def note_started(slug: str) -> ResponseReturnValue:
    """Store that somebody began to write after opening an emailed link."""
    return _note(slug, "started_at")


def _note(slug: str, column: str) -> Response:
    project = find_public_project(slug=slug)
    sent = InvitationForm().read(request.form).values
    asked = request_mail.find_request(sent.get("invitation") or "", project.id)
    if asked is not None and getattr(asked, column) is None:
        with write(partial(request_mail.lock_request, asked)) as asked:
            if asked is not None:
                now = clock.now()
                asked.opened_at = asked.opened_at or now
                setattr(asked, column, getattr(asked, column) or now)
    return Response(status=204)


@collection.get("/requests/<token>/<any(decline,unsubscribe):answer>")
def show_answer(token: str, answer: str) -> ResponseReturnValue:
    asked, project = request_mail.read_answer_token(token)
    return _page(asked, project, token, answer, is_done=False)


@collection.post("/requests/<token>/<any(decline,unsubscribe,subscribe):answer>")
def take_answer(token: str, answer: str) -> ResponseReturnValue:
    act = {"decline": decline, "unsubscribe": unsubscribe, "subscribe": subscribe_again}[answer]
    with write(partial(request_mail.read_answer_token, token)) as (asked, project):
        act(asked)
    return _page(asked, project, token, answer, is_done=True)


def _page(
    asked: request_mail.Asked, project: Project | None, token: str, answer: str, *, is_done: bool
) -> Response:
    is_told = is_done and answer != "decline"
    page = render_template(
        "collection/requests/request.html",
        **(describe_page(project) if project else {"project": None}),
        answer=answer,
        is_done=is_done,
        is_unsubscribed=answer == "unsubscribe" if is_told else is_unsubscribed(asked),
        token=token,
    )
    return answer_privately(page)


def decline(asked: request_mail.Asked) -> None:
    """Store that somebody doesn't want to write, and cancel the reminder."""
    request = db.session.get(MailedRequest, asked.request_id, with_for_update=True)
    if request is not None and request.answered_at is None:
        request.declined_at = request.declined_at or clock.now()
        request.next_mail_at = None


def is_unsubscribed(asked: request_mail.Asked) -> bool:
    return db.session.get(UnsubscribedAddress, (asked.account_id, asked.email_hash)) is not None


def unsubscribe(asked: request_mail.Asked) -> None:
    """Stop all requests from the account to the address, also those that wait to be emailed."""
    _lock_account(asked)
    if is_unsubscribed(asked):
        return
    db.session.add(UnsubscribedAddress(account_id=asked.account_id, email_hash=asked.email_hash))
    is_own = MailedRequest.email_hash == asked.email_hash
    db.session.execute(update(MailedRequest).where(is_own).values(next_mail_at=None))
    ids, mail = select(MailedRequest.mail_id).where(is_own), OutboxMail
    db.session.execute(delete(mail).where(mail.id.in_(ids), mail.state == MailState.QUEUED))


def subscribe_again(asked: request_mail.Asked) -> None:
    """Let the account send requests to the address again; send those that were held back."""
    _lock_account(asked)
    gone, row = UnsubscribedAddress, MailedRequest
    is_own = (gone.account_id == asked.account_id, gone.email_hash == asked.email_hash)
    db.session.execute(delete(gone).where(*is_own))
    unsent = update(row).where(row.email_hash == asked.email_hash, row.sent_at.is_(None))
    waiting = unsent.where(row.answered_at.is_(None), row.declined_at.is_(None))
    db.session.execute(waiting.values(next_mail_at=clock.now()))


def _lock_account(asked: request_mail.Asked) -> None:
    try:
        lock_account(asked.account_id)
    except NotFound:
        raise NotFound(LINK_GONE) from None
