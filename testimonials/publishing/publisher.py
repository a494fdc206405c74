"""The background thread that publishes: it looks for changes, and writes what is not out yet."""

import hashlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Select, select, text

from testimonials.auth.models import Account
from testimonials.core.data.outages import log_fault
from testimonials.core.urls import app_url, base_url, published_url
from testimonials.core.web.languages import LANGUAGES
from testimonials.projects.models import Project
from testimonials.projects.services import is_shown
from testimonials.publishing.contents import Gone, list_static, make_groups
from testimonials.publishing.rewriting import STATIC, folder_of
from testimonials.publishing.stores import Store, open_store
from testimonials.publishing.turns import Turn
from testimonials.settings.current import current_settings
from testimonials.widget.models import SavedWidget
from testimonials.widget.script.assembly import MODULES, build_module, digest_of, module_digest
from testimonials.widget.script.embedded import find_published_script, name_script

logger = logging.getLogger("testimonials.publishing")

WIDGETS = "widget"
# The name of the file that says which version of a project is out; it is written last.
MARK = "published-"
# Between two looks for changes: SQLite tells of them, and PostgreSQL is asked for them.
ROUND_SECONDS = 0.25
# Without a change, accounts can still expire, and what failed is tried again.
LOOK_SECONDS = 10.0
# After a failure, before the project is tried again.
PAUSE_SECONDS = 8.0
# How many are written before looking again, so that a new change never waits for many old ones.
AT_ONCE = 4


@dataclass(frozen=True)
class Wanted:
    """A project that is shown, as of its latest change."""

    id: str
    slug: str
    version: int


def find_shown() -> Select[str, str, int]:
    """Return the query of what is to be published, the latest change first."""
    return (
        select(Project.id, Project.slug, Project.feed_version)
        .join(Account)
        .where(is_shown())
        .order_by(Project.feed_version.desc())
    )


class Publisher:
    """What this process has published, if it is its turn."""

    def __init__(self, place: str) -> None:
        self._turn = Turn()
        self._store: Store = open_store(place)
        self._has_begun = False
        self._edition = ""
        self._marks: dict[str, str] = {}
        self._paused: dict[str, float] = {}
        self._next_look = 0.0
        self._data_version: object = None
        self._is_behind = True

    def run(self, is_ending: Callable[[], bool] = lambda: False) -> None:
        """Publish what has changed, if it is this process's turn."""
        if not self._turn.take():
            return
        try:
            if not self._has_begun:
                self._begin(self._store)
            while not is_ending() and self._has_news():
                self._look(is_ending)
                # What others write meanwhile is seen in a moment; a loop would never rest.
                if not self._is_behind:
                    break
        except Exception:
            # Another process may be luckier; this one begins anew.
            self.end()
            raise

    def end(self) -> None:
        """Let another process have its turn."""
        self._has_begun = False
        self._turn.end()

    def _begin(self, store: Store) -> None:
        """Write what all projects share, and read what is out already."""
        self._edition = _name_edition()
        known = {f"{WIDGETS}/{name}" for name in store.names(WIDGETS)}
        script = find_published_script()
        modules = [(name_script(module_digest(name)), build_module(name)) for name in MODULES]
        for name, content in (*modules, (name_script(digest_of(script)), script)):
            if f"{WIDGETS}/{name}" not in known:
                store.write(f"{WIDGETS}/{name}", content)
        for path, content in list_static():
            # What has a version in its path never changes.
            if path.rpartition("/")[2] not in store.names(path.rpartition("/")[0]):
                store.write(path, content)
        # Last, since it loads the others.
        store.write(f"{WIDGETS}/{name_script()}", script)
        self._marks = {folder: _read_mark(store, folder) for folder in store.folders(WIDGETS)}
        self._has_begun, self._is_behind, self._next_look = True, True, 0.0

    def _has_news(self) -> bool:
        """Return whether something may have changed, which SQLite says without reading a row."""
        is_same = True
        if current_settings().is_sqlite:
            version = self._turn.ask(text("PRAGMA data_version"))[0][0]
            is_same, self._data_version = version == self._data_version, version
        return not is_same or self._is_behind or time.monotonic() >= self._next_look

    def _look(self, is_ending: Callable[[], bool]) -> None:
        wanted = [Wanted(*row) for row in self._turn.ask(find_shown())]
        shown = {each.id for each in wanted}
        for project_id in [each for each in self._marks if each not in shown]:
            self._remove(project_id)
        now = time.monotonic()
        behind = [
            each
            for each in wanted
            if self._marks.get(each.id) != self._mark(each)
            and self._paused.get(each.id, 0.0) <= now
        ]
        for each in behind[:AT_ONCE]:
            if not is_ending():
                self._attempt(each)
        self._is_behind = len(behind) > AT_ONCE
        wait = LOOK_SECONDS if current_settings().is_sqlite else 2 * ROUND_SECONDS
        self._next_look = time.monotonic() + wait

    def _mark(self, wanted: Wanted) -> str:
        return f"{MARK}{wanted.version}-{self._edition}.txt"

    def _attempt(self, wanted: Wanted) -> None:
        try:
            self._publish(wanted)
        except Gone:
            # The next look sees that too.
            self._is_behind = True
        except Exception as error:
            self._paused[wanted.id] = time.monotonic() + PAUSE_SECONDS
            log_fault(logger, "a project was not published; it is tried again", error)
        else:
            self._paused.pop(wanted.id, None)

    def _publish(self, wanted: Wanted) -> None:
        """Write a project's files, remove those that it no longer has, and mark its version."""
        store = self._store
        folder, mark = folder_of(wanted.id), self._mark(wanted)
        known = store.names(folder)
        widgets = select(SavedWidget.name).where(SavedWidget.project_id == wanted.id)
        saved = [row[0] for row in self._turn.ask(widgets.order_by(SavedWidget.name))]
        # A crash in between leaves the former mark, so that all is written again.
        self._marks[wanted.id] = ""
        kept = {mark}
        for files in make_groups(wanted.id, wanted.slug, saved, known):
            for name, content in files:
                kept.add(name)
                if content:
                    store.write(f"{folder}/{name}", content)
        store.write(f"{folder}/{mark}", b"\n")
        for name in known - kept:
            store.remove(f"{folder}/{name}")
        self._marks[wanted.id] = mark

    def _remove(self, project_id: str) -> None:
        self._store.remove_folder(folder_of(project_id))
        del self._marks[project_id]
        self._paused.pop(project_id, None)


def _read_mark(store: Store, project_id: str) -> str:
    """Return the one mark of a project; two are what a crash left."""
    marks = [name for name in store.names(folder_of(project_id)) if name.startswith(MARK)]
    return marks[0] if len(marks) == 1 else ""


def _name_edition() -> str:
    """Return what stands for all that files depend on beside their project."""
    static = next(path for path, _ in list_static())
    parts = (static, base_url(), app_url(), published_url(), STATIC, str(LANGUAGES))
    digest = hashlib.sha256(find_published_script())
    digest.update("\n".join(parts).encode())
    return digest.hexdigest()[:12]
