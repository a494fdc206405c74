"""What the tests of the author's own page share: a visitor who sends, and the links they get."""

import html
import re
from dataclasses import dataclass
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from testimonials.core.mail.outbox import OutboxMail
from tests.auth.links import ORIGIN, mails
from tests.support.rows import read_testimonials, write_mail
from tests.support.visitors import form_token

WORDS = {
    "text": "They listened.\nTwice.", "name": "Noor Haddad", "role": "Visitor",
    "company": "Haddad & Co", "email": "noor@example.com", "rating": "4", "consent": "yes",
}  # fmt: skip


@dataclass
class Visitor:
    """Somebody who writes on the collection page `slug` of a project, from an IP address."""

    client: FlaskClient
    project: str
    slug: str
    ip: str = "10.3.0.1"

    def make_form(self, **values: str) -> dict[str, str]:
        return WORDS | {"token": form_token(self.client.get(f"/{self.slug}").text)} | values

    def send(self, form: dict[str, str]) -> str:
        """Send a form; return the path of the author's page that the thank-you page shows."""
        answer = self.client.post(f"/{self.slug}", data=form, environ_base={"REMOTE_ADDR": self.ip})
        assert answer.status_code == 303, answer.text
        write_mail(self.client.application)
        thanks = self.client.get(answer.headers["Location"])
        assert thanks.headers["Cache-Control"] == "no-store"
        assert thanks.headers["Referrer-Policy"] == "same-origin"
        found = re.search(rf'href="{ORIGIN}(/yours/[^"?]+)', thanks.text)
        assert found, thanks.text
        return found[1]

    def write(self, **values: str) -> str:
        """Do both."""
        return self.send(self.make_form(**values))

    def mailed(self) -> list[OutboxMail]:
        return [mail for mail in mails(self.client.application) if mail.purpose == "author-link"]

    def mailed_path(self) -> str:
        """Return the path of the author's page that the newest mail leads to."""
        return re.search(rf"{ORIGIN}(/yours/[^\s?]+)", self.mailed()[-1].text)[1]

    def row(self) -> Any:
        """Return the only testimonial as it is stored."""
        (row,) = read_testimonials(self.client.application, self.project)
        return row

    def post(self, path: str, status: int = 303, **values: str) -> TestResponse:
        answer = self.client.post(path, data=values)
        write_mail(self.client.application)
        assert answer.status_code == status, answer.text
        return answer

    def see(self, path: str, status: int = 200) -> str:
        """Read one of the author's pages."""
        answer = self.client.get(path)
        assert answer.status_code == status, answer.text
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Referrer-Policy"] == "same-origin"
        assert '<meta name="robots" content="noindex">' in answer.text
        return html.unescape(answer.text)
