"""What a start loads: our own modules, and the packages of others.

`WRITE_IMPORTS=1 pytest tests/operations/server/test_start.py` writes the list anew. Fewer is
welcome, more needs a reason: each is loaded at every start, before anybody is answered.
"""

import json
import os
import signal
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from testimonials.core.db.migrate import upgrade
from testimonials.core.extensions import db
from tests.operations.instances import app_on
from tests.support.process import clean_environment, run_program, start_service
from tests.support.servers import wait_for

LIST = Path(__file__).with_name("imports.json")
# The service, which writes down on a signal what it has loaded. No background work loads the rest.
TELLING = """
import os, signal, sys
from testimonials.core import jobs

def tell(*_):
    with open("modules.new", "w") as file:
        file.write(" ".join(sys.modules))
    os.rename("modules.new", "modules")

jobs.FIRST_ROUND = 3600
os.chdir(os.environ["TESTIMONIALS_INSTANCE_PATH"])
signal.signal(signal.SIGUSR1, tell)
from testimonials.__main__ import main
main()
"""
TOLD = """
import atexit, sys
from testimonials.__main__ import main
atexit.register(lambda: print("\\f", *sys.modules))
main()
"""

WHOLE = """
import sys
from testimonials import create_app
from testimonials.core.late import load_all
create_app()
load_all()
print(*sys.modules)
"""

# A circle with 40 MB, and what was made after it, so that they are no end of the heap.
CIRCLE = """
from pathlib import Path
from testimonials.operations.server.worker import give_back_memory

def read_own():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))

circle = [bytes(2000) for _ in range(20_000)]
circle.append(circle)
after = bytes(2000)
before = read_own()
del circle
give_back_memory()
print(before - read_own())
"""


def test_nothing_new_is_loaded_before_the_first_answer(tmp_path):
    service = start_service(tmp_path, (), {})
    headers = service.sign_up()
    project = service.make_project(headers)
    with sqlite3.connect(tmp_path / "testimonials.db") as database:
        # The script is kept after the start.
        query = "SELECT 1 FROM widget_script"
        wait_for(lambda: database.execute(query).fetchone() == (1,))
    assert service.stop() == 0
    service.kill()
    service = start_service(tmp_path, (), {}, command=(sys.executable, "-c", TELLING))
    try:
        found = {}
        for name, path in {"a page": "/", "the widget's data": f"/widget/{project}/feed"}.items():
            assert service.call("GET", path).status == 200
            os.kill(service.workers[0], signal.SIGUSR1)
            wait_for((tmp_path / "modules").exists)
            found[name] = sum_up((tmp_path / "modules").read_text().split())
            (tmp_path / "modules").unlink()
    finally:
        service.kill()
    answer_while_modules_are_loaded(tmp_path, headers, project)
    environment = clean_environment(tmp_path, {})
    done = run_program((sys.executable, "-c", TOLD, "--help"), env=environment)
    assert "Commands:" in done.stdout
    found["--help"] = sum_up(done.stdout.partition("\f")[2].split())
    assert not {"flask", "sqlalchemy"} & found["--help"]
    # A database as `schema.sql` makes it needs no Alembic to be found sound, as each night.
    done = run_program((sys.executable, "-c", TOLD, "db", "check"), env=environment)
    assert done.returncode == 0
    assert "alembic" not in sum_up(done.stdout.partition("\f")[2].split())
    if os.environ.get("WRITE_IMPORTS"):
        listed = {name: sorted(modules) for name, modules in found.items()}
        LIST.write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    known = json.loads(LIST.read_text(encoding="utf-8"))
    # Some systems make Python load a module of theirs first.
    theirs = {"sitecustomize", "usercustomize"}
    new = {name: sorted(modules - {*known[name]} - theirs) for name, modules in found.items()}
    assert not any(new.values()), new


def answer_while_modules_are_loaded(folder: Path, headers: dict[str, str], project: str) -> None:
    """Ask a service that has just started: models that name each other may be there by half."""
    service = start_service(folder, (), {})
    paths = (
        *("/v1/projects", f"/v1/projects/{project}/testimonials", f"/widget/{project}/feed"),
        *(f"/widget/{project}", "/login", "/dashboard", "/nobody", "/nobody/wall", "/v1/me"),
    )
    try:
        with ThreadPoolExecutor(len(paths)) as pool:
            answers = [*pool.map(lambda path: service.call("GET", path, None, headers), paths * 3)]
        assert [answer.status for answer in answers if answer.status >= 500] == []
    finally:
        service.kill()


def test_a_worker_keeps_nothing_of_another_database_and_no_decoder_in_memory(tmp_path):
    done = run_program((sys.executable, "-c", WHOLE), env=clean_environment(tmp_path, {}))
    assert "testimonials.widget.cache" in done.stdout
    assert not {"sqlalchemy.dialects.postgresql", "PIL"} & {*done.stdout.split()}


def test_what_requests_left_in_circles_goes_back_to_the_system(tmp_path):
    done = run_program((sys.executable, "-c", CIRCLE), env=clean_environment(tmp_path, {}))
    assert int(done.stdout) > 35_000, done.stderr


def test_templates_are_compiled_once_where_there_is_a_place_for_them(tmp_path):
    page = show_login(tmp_path)
    kept = {path: path.read_bytes() for path in (tmp_path / "templates").iterdir()}
    (frame,) = (path for path in kept if b"<!doctype html>" in kept[path])
    cut = next(path for path in kept if path != frame)
    # Nothing is compiled that is there, and what is no use is compiled anew.
    frame.write_bytes(kept[frame].replace(b"<!doctype html>", b"<!DOCTYPE html>"))
    cut.write_bytes(kept[cut][:99])
    assert show_login(tmp_path) == page.replace("<!doctype html>", "<!DOCTYPE html>")
    assert cut.read_bytes() == kept[cut]
    # Pages need none.
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "templates").write_text("no folder")
    assert "<html" in show_login(tmp_path / "other")


def show_login(folder: Path) -> str:
    app = app_on(folder)
    with app.app_context():
        upgrade(db.engine)
    answer = app.test_client().get("/login")
    assert answer.status_code == 200
    return answer.text


def sum_up(modules: list[str]) -> set[str]:
    """Return our own modules, and the packages of others that came from outside of Python."""
    tops = {module.partition(".")[0] for module in modules} - sys.stdlib_module_names
    # What begins with an underscore is made by how something was built or installed.
    others = {top for top in tops if top[0] != "_" and top != "cython_runtime"}
    return {each for each in modules if each.startswith("testimonials.")} | others
