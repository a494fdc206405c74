"""The background thread that publishes: it looks for changes, and writes what is not out yet."""

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from sqlalchemy import Select, select, text

from testimonials.auth.models import Account
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.data.outages import log_fault
from testimonials.core.urls import app_url, base_url, published_url
from testimonials.core.web.languages import LANGUAGES
from testimonials.projects.models import Project
from testimonials.projects.services import is_shown
from testimonials.publishing.contents import Batch, Gone, list_static, make_batches
from testimonials.publishing.progress import Progress
from testimonials.publishing.rewriting import STATIC, folder_of
from testimonials.publishing.stores import Store, open_store
from testimonials.publishing.turns import Turn
from testimonials.settings.current import current_settings
from testimonials.widget.models import SavedWidget
from testimonials.widget.script.assembly import MODULES, build_module, digest_of, module_digest
from testimonials.widget.script.embedded import find_published_script, name_script

logger = logging.getLogger("testimonials.publishing")

WIDGETS = "widget"
# The folder of files of which each says which version of a project is out; they are written last.
MARKS = "published"
# Between two looks for changes: SQLite tells of them, and PostgreSQL is asked for them.
ROUND_SECONDS = 0.25
# Without a change, accounts can still expire, and what failed is tried again.
LOOK_SECONDS = 10.0
# After a failure, before it is tried again.
PAUSE_SECONDS = 8.0
# Then it looks again, so that a new change never waits for many old ones.
SLICE_SECONDS = 0.4


@dataclass(frozen=True)
class Begun:
    """A project of which what widgets show is out, and not yet all else."""

    mark: str
    # The names of the files that were there, and of those that are out now.
    known: set[str]
    kept: set[str]
    rest: Iterator[Batch]


@dataclass(frozen=True)
class Wanted:
    """A project that is shown, as of its latest change."""

    id: str
    slug: str
    version: int


def find_shown() -> Select[str, str, int]:
    """Return the query of what is to be published."""
    return select(Project.id, Project.slug, Project.feed_version).join(Account).where(is_shown())


class Publisher:
    """What this process has published, if it is its turn."""

    def __init__(self, place: str) -> None:
        self.progress = Progress()
        self._turn = Turn()
        self._store: Store = open_store(place)
        self._has_begun = False
        self._edition = ""
        self._marks: dict[str, str] = {}
        self._begun: dict[str, Begun] = {}
        self._paused: dict[str, float] = {}
        self._rests_until = 0.0
        self._slice_end = 0.0
        # The latest change that was there at the start.
        self._newest: int | None = None
        self._next_look = 0.0
        self._data_version: object = None
        self._is_behind = True

    def run(self, is_ending: Callable[[], bool] = lambda: False) -> None:
        """Publish what has changed, if it is this process's turn."""
        if time.monotonic() < self._rests_until or not self._turn.take():
            return
        try:
            if not self._has_begun:
                self._begin(self._store)
            while not is_ending() and self._has_news():
                self._look(is_ending)
                # What others write meanwhile is seen in a moment; a loop would never rest.
                if not self._is_behind:
                    break
        except Exception as error:
            # Another process may be luckier; this one begins anew.
            self.end()
            self._rests_until = time.monotonic() + PAUSE_SECONDS
            self.progress.note_failure(error)
            self.progress.write()
            raise
        self.progress.write()

    def end(self) -> None:
        """Let another process have its turn."""
        self._has_begun = False
        self.progress.end()
        self._turn.end()

    def _begin(self, store: Store) -> None:
        """Write what all projects share, and read what is out already."""
        self._edition = _name_edition()
        known = {f"{WIDGETS}/{name}" for name in store.names(WIDGETS)}
        script = find_published_script()
        modules = [(name_script(module_digest(name)), build_module(name)) for name in MODULES]
        shared = [(f"{WIDGETS}/{name}", content) for name, content in modules]
        shared.append((f"{WIDGETS}/{name_script(digest_of(script))}", script))
        for folder, files in groupby(list_static(), key=lambda file: file[0].rpartition("/")[0]):
            known |= {f"{folder}/{name}" for name in store.names(folder)}
            shared += files
        # What has a version in its path never changes.
        store.write(file for file in shared if file[0] not in known)
        # Last, since it loads the others.
        store.write([(f"{WIDGETS}/{name_script()}", script)])
        # Folders of other names are not ours to remove.
        folders = filter(is_identifier, store.folders(WIDGETS))
        self._marks = dict.fromkeys(folders, "") | read_marks(store)
        self._begun, self._newest = {}, None
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
        if self._newest is None:
            self._newest = max((each.version for each in wanted), default=0)
        now = time.monotonic()
        behind = [each for each in wanted if self._marks.get(each.id) != self._mark(each)]
        due = sorted(
            (each for each in behind if self._paused.get(each.id, 0.0) <= now), key=self._rank
        )
        # Of all that changed, what widgets show goes out first.
        self._do(self._write_data, [each for each in due if not self._is_begun(each)], is_ending)
        self._do(self._write_rest, [each for each in due if self._is_begun(each)], is_ending)
        left = {each.id for each in behind if self._marks.get(each.id) != self._mark(each)}
        self.progress.note_behind(left)
        self._is_behind = any(self._paused.get(each, 0.0) <= now for each in left)
        wait = LOOK_SECONDS if current_settings().is_sqlite else 2 * ROUND_SECONDS
        self._next_look = time.monotonic() + wait

    def _mark(self, wanted: Wanted) -> str:
        return f"{wanted.version}-{self._edition}"

    def _rank(self, wanted: Wanted) -> tuple[bool, int]:
        """Order changes by their time, after them what was found at the start, newest first."""
        is_old = wanted.version <= (self._newest or 0)
        return is_old, -wanted.version if is_old else wanted.version

    def _is_begun(self, wanted: Wanted) -> bool:
        begun = self._begun.get(wanted.id)
        return begun is not None and begun.mark == self._mark(wanted)

    def _do(
        self,
        work: Callable[[Wanted], None],
        projects: list[Wanted],
        is_ending: Callable[[], bool],
    ) -> None:
        self._slice_end = time.monotonic() + SLICE_SECONDS
        for each in projects:
            self._attempt(work, each)
            if is_ending() or time.monotonic() > self._slice_end:
                break

    def _attempt(self, work: Callable[[Wanted], None], wanted: Wanted) -> None:
        try:
            work(wanted)
            self._paused.pop(wanted.id, None)
        except Exception as error:
            self._begun.pop(wanted.id, None)
            self._paused[wanted.id] = time.monotonic() + PAUSE_SECONDS
            # What is gone, the next look sees too.
            if not isinstance(error, Gone):
                self.progress.note_failure(error)
                log_fault(logger, "a project was not published; it is tried again", error)

    def _write_data(self, wanted: Wanted) -> None:
        """Write what a project's widgets show."""
        folder = folder_of(wanted.id)
        known = self._store.names(folder)
        widgets = select(SavedWidget.name).where(SavedWidget.project_id == wanted.id)
        saved = [row[0] for row in self._turn.ask(widgets.order_by(SavedWidget.name))]
        data, rest = make_batches(wanted.id, wanted.slug, saved, known)
        kept = self._write_batches(folder, data)
        self._begun[wanted.id] = Begun(self._mark(wanted), known, kept, rest)

    def _write_rest(self, wanted: Wanted) -> None:
        """Write all else of a project, remove what it no longer has, and mark its version.

        If that takes long, the rest comes after the next look.
        """
        begun, store, folder = self._begun[wanted.id], self._store, folder_of(wanted.id)
        for batch in begun.rest:
            begun.kept.update(self._write_batches(folder, [batch]))
            if time.monotonic() > self._slice_end:
                return
        store.remove(f"{folder}/{name}" for name in begun.known - begun.kept)
        # A crash before this leaves the former mark, so that all is written again.
        store.write([(_name_mark(wanted.id, begun.mark), b"\n")])
        if former := self._marks.get(wanted.id):
            store.remove([_name_mark(wanted.id, former)])
        self._marks[wanted.id] = begun.mark
        del self._begun[wanted.id]

    def _write_batches(self, folder: str, batches: Iterable[Batch]) -> set[str]:
        kept = set()
        for batch in batches:
            kept |= {name for name, _ in batch}
            self._store.write((f"{folder}/{name}", content) for name, content in batch if content)
        return kept

    def _remove(self, project_id: str) -> None:
        self._store.remove_folder(folder_of(project_id))
        if mark := self._marks.pop(project_id):
            self._store.remove([_name_mark(project_id, mark)])
        self._begun.pop(project_id, None)
        self._paused.pop(project_id, None)


def _name_mark(project_id: str, mark: str) -> str:
    return f"{MARKS}/{project_id}.{mark}.txt"


def read_marks(store: Store) -> dict[str, str]:
    """Return the mark of each project that is out."""
    found: dict[str, str] = {}
    for name in store.names(MARKS):
        project_id, _, mark = name.removesuffix(".txt").partition(".")
        if not is_identifier(project_id):
            continue
        # Two are what a crash left: neither is right.
        if project_id in found:
            store.remove([f"{MARKS}/{name}", _name_mark(project_id, found[project_id])])
            mark = ""
        found[project_id] = mark
    return found


def _name_edition() -> str:
    """Return what stands for all that files depend on beside their project."""
    static = next(path for path, _ in list_static())
    parts = (static, base_url(), app_url(), published_url(), STATIC, str(LANGUAGES))
    digest = hashlib.sha256(find_published_script())
    digest.update("\n".join(parts).encode())
    return digest.hexdigest()[:12]
