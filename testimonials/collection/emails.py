"""The mail to the author of a testimonial."""

from flask import render_template

from testimonials.collection.authors.erasure import AUTHOR_MAIL, is_unwanted
from testimonials.collection.authors.services import make_author_token, make_author_url
from testimonials.core.mail.outbox import OutboxMail
from testimonials.core.urls import app_url
from testimonials.core.web.languages import gettext, speaking
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials.emails import NAME_LENGTH, cut
from testimonials.testimonials.models import Testimonial


def send_author_mail(project: Project, row: Testimonial) -> None:
    """Put the mail with the author's own link into the outbox, in the language of their form.

    It holds none of their words, so that nobody can send words to strangers by the form. What is
    held as spam gets none, nor does an address that wants no mail.
    """
    email = row.author_email
    if row.status != "pending" or email is None or is_unwanted(project, email):
        return
    with speaking(row.consent_language) as language:
        token = make_author_token(row, is_mailed=True)
        name = cut(project.name, NAME_LENGTH)
        values = {
            "title": gettext("Your testimonial for %(name)s", name=name),
            "project_name": name,
            "link": make_author_url(token, language.code),
            "disown_link": make_author_url(token, language.code, "not-mine"),
            "app_url": app_url(),
        }
        db.session.add(
            OutboxMail(
                purpose=AUTHOR_MAIL,
                recipient=email,
                subject=values["title"],
                text=render_template("email/author.txt", **values),
                html=render_template("email/author.html", **values),
            )
        )
