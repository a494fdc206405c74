"""The mail to an author, and the one to owners about a flood."""

from flask import render_template

from testimonials.auth.emails import send_plain_mail
from testimonials.collection.authors.erasure import AUTHOR_MAIL, is_unwanted
from testimonials.collection.authors.services import make_author_token, make_author_url
from testimonials.core.mail.outbox import OutboxMail
from testimonials.core.urls import app_url, project_url
from testimonials.core.web.languages import gettext, speaking
from testimonials.extensions import db
from testimonials.projects.limits import names_service
from testimonials.projects.models import Project
from testimonials.projects.notifications.services import Reader, make_unsubscribe_url
from testimonials.settings.current import count_days, current_settings
from testimonials.testimonials.emails import NAME_LENGTH, cut
from testimonials.testimonials.models import Testimonial


def send_author_mail(
    project: Project, row: Testimonial, email: str | None = None, words: str = ""
) -> None:
    """Send the author's own link, in the language of their form.

    By default to the author's address; another one that they give on the thank-you page gets the
    link and is not kept. The mail quotes nothing, so that nobody can use the form to write to
    strangers; `words` are the owner's, who thanks a proven address. Not sent for spam, nor to an
    address that wants no mail.
    """
    is_theirs = email in (None, row.author_email)
    email = email or row.author_email
    if row.status == "spam" or email is None or is_unwanted(project, email):
        return
    with speaking(row.consent_language) as language:
        token = make_author_token(row, is_mailed=is_theirs)
        name = cut(project.name, NAME_LENGTH)
        values = {
            "title": gettext("Your testimonial for %(name)s", name=name),
            "project_name": name,
            "words": words,
            "link": make_author_url(project, token, language.code),
            # An address that isn't kept needn't be taken back.
            "disown_link": make_author_url(project, token, language.code, "not-mine")
            if is_theirs
            else "",
            "names_service": names_service(project),
            "app_url": app_url(),
        }
        db.session.add(
            OutboxMail(
                purpose=AUTHOR_MAIL,
                recipient=email,
                subject=values["title"],
                text=render_template("email/author.txt", **values),
                html=render_template("email/author.html", **values),
                sender_name=None if values["names_service"] else project.name,
            )
        )


def _for_days(days: int) -> str:
    return f" for {days} day{'s' if days > 1 else ''}" if days else ""


def send_flood_mail(project: Project, reader: Reader) -> None:
    """Tell somebody that a flood was held as spam, and that some of it may be real."""
    name = cut(project.name, NAME_LENGTH)
    send_plain_mail(
        reader.email,
        "flood",
        f"Many testimonials came at once for {name}",
        [
            f"More than {current_settings().flood_per_hour} testimonials arrived within an hour. "
            f"The rest are held as spam{_for_days(count_days('spam'))}, since it is mostly "
            "programs that send so many.",
            "If they came from an event or a newsletter, release them there; nothing is lost. The "
            "operator of this service can raise the limit.",
        ],
        footnote="You get this mail once a day at most, and never if you choose no mail under "
        "Notifications.",
        link=f"{project_url(project.id, 'inbox')}?status=spam",
        button="Open the spam folder",
        list_unsubscribe=make_unsubscribe_url(project.id, reader.account_id),
    )
