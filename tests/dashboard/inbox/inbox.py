"""What the tests of the inbox share: a signed-in owner with a project and what visitors sent."""

import re
from dataclasses import dataclass
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from testimonials.collection.context import make_context
from testimonials.collection.storing import announce, store
from testimonials.collection.submission import Submission
from testimonials.core import clock
from testimonials.core.extensions import db, lock_for_writing
from testimonials.projects.projects import lock_project
from testimonials.testimonials import models
from testimonials.testimonials.inbox import count_tabs
from testimonials.testimonials.testimonials import list_all_of_project
from tests.conftest import PASSWORD, Caller
from tests.support.rows import count_for_planner

JSON = {"Accept": "application/json"}
# What the form for many sends; its address has the filter.
SENT = ("ids", "all", "new_tag", "tagging", "reason")
# What a notice brings back.
UNDO = re.compile(r'name="undo" value="([^"]+)"')


@dataclass
class Inbox:
    """One owner's inbox, used as a browser uses it."""

    app: Flask
    owner: Caller
    client: FlaskClient
    project: str

    @property
    def base(self) -> str:
        return f"/dashboard/projects/{self.project}"

    def receive(self, *names: str, **values: Any) -> list[str]:
        """Let visitors of these names submit; return the ids."""
        with self.app.app_context():
            lock_for_writing()
            context = make_context(lock_project(self.project))
            for name in names:
                columns = {
                    "author_name": name,
                    "text": f"Words of {name}",
                    "author_role": "",
                    "consent_text": "Yes.",
                }
                sent = Submission(values=columns | values, key=f"{self.project} {name}")
                row, is_new = store(context, sent)
                if is_new:
                    announce(context, sent, row)
            db.session.commit()
            rows = list_all_of_project(self.project, None, 10_000)
            ids = {row.author_name: row.id for row in rows}
            return [ids[name] for name in names]

    def find(self, page: str, name: str) -> str:
        """Return the id of the row with this author on a page."""
        for row in page.split('<li class="item"')[1:]:
            if f">{name}</bdi>" in row:
                return row.partition('id="t-')[2][:24]
        raise AssertionError(f"{name} is not on the page")

    def get(self, path: str) -> TestResponse:
        answer = self.client.get(f"{self.base}/{path}")
        assert answer.status_code == 200, answer.status
        return answer

    def act(self, testimonial_id: str, action: str, reason: str = "") -> TestResponse:
        """Do one thing to one testimonial, as the script of the page does."""
        path = f"{self.base}/testimonials/{testimonial_id}/action"
        return self.client.post(path, data={"action": action, "reason": reason}, headers=JSON)

    def bulk(self, action: str, *, do: str = "bulk", **values: Any) -> TestResponse:
        """Do something to many: to those with `ids`, or to `all` that the other values find."""
        sent = {name: value for name, value in values.items() if name in SENT} | {"action": action}
        query = {name: value for name, value in values.items() if name not in SENT}
        path = f"{self.base}/inbox/{do}"
        return self.client.post(path, query_string=query, data=sent, headers=JSON)

    def undo(self, answer: TestResponse) -> TestResponse:
        """Undo what an answer offers to undo."""
        notice = answer.json["notice"]  # type: ignore[index]
        data = {"undo": notice["undo_token"]}
        return self.client.post(notice["undo_url"], data=data, headers=JSON)

    def fill(self, count: int) -> list[str]:
        """Put that many pending testimonials into the project in one statement;
        return their ids."""
        with self.app.app_context():
            moment = clock.now()
            rows = [
                {
                    "id": f"{number:024x}", "project_id": self.project, "status": "pending",
                    "source": "public_page", "author_name": f"Person {number}", "author_role": "",
                    "text": "Words", "submitted_at": moment, "created_at": moment,
                    "updated_at": moment,
                }
                for number in range(1, count + 1)
            ]  # fmt: skip
            db.session.execute(models.Testimonial.__table__.insert(), rows)
            db.session.commit()
        count_for_planner(self.app)
        return [str(row["id"]) for row in rows]

    def shown(self) -> list[str]:
        """Return the authors that the widget shows."""
        items = self.client.get(f"/widget/{self.project}/feed").json["items"]  # type: ignore[index]
        return [item["authorName"] for item in items]

    def counts(self) -> dict[str, int]:
        """Return what each tab and folder holds, of which the page shows some."""
        with self.app.app_context():
            counts = count_tabs(self.project)[self.project]
        shown = re.findall(r'data-count="(\w+)">(\d+)<', self.get("inbox").text)
        tabs = {"waiting": "pending", "approved": "approved", "rejected": "rejected"}
        assert shown == [(name, str(counts[tab])) for name, tab in tabs.items()]
        return counts


def open_inbox(app: Flask, owner: Caller, **project: Any) -> Inbox:
    client = app.test_client()
    answer = client.post("/login", data={"email": owner.email, "password": PASSWORD})
    assert answer.status_code == 303, answer.text
    return Inbox(app, owner, client, owner.create_project(**project)["_id"])
