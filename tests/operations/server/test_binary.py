"""The one file that `scripts/build-binary` makes, in an empty root with the C library alone."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

import testimonials
from testimonials.core.db.migrate import head
from testimonials.widget.script import WALL, build_script
from tests.auth.proofs.authenticator import SECURITY, Device
from tests.conftest import PASSWORD
from tests.operations.server.test_serve_pictures import send_photo
from tests.support.pictures import photo, to_bytes
from tests.support.process import Service, run_program, start_service
from tests.support.servers import PATIENCE, wait_for

pytestmark = [pytest.mark.process, pytest.mark.thorough]

PROJECT = Path(testimonials.__file__).parent.parent
LARGEST = 35_000_000
# What Debian's package libc6 brings, the C library; every distribution with glibc has these.
LIBRARIES = (
    "ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0",
    "librt.so.1", "libutil.so.1", "libresolv.so.2", "libnss_files.so.2", "libnss_dns.so.2",
)  # fmt: skip


@pytest.fixture(scope="module")
def binary() -> Path:
    """The file, made anew where something that goes into it has changed; or that of a release."""
    if released := os.environ.get("TESTS_BINARY"):
        return Path(released)
    script = PROJECT / "scripts" / "build-binary"
    subprocess.run([script, "--if-changed"], check=True, timeout=900, stdout=subprocess.DEVNULL)
    return PROJECT / "dist" / "testimonials"


class EmptyRoot:
    """A root folder that holds the file, the C library and nothing else."""

    def __init__(self, folder: Path, binary: Path) -> None:
        self.folder = folder
        libraries = folder / "lib" / "x86_64-linux-gnu"
        libraries.mkdir(parents=True)
        for name in LIBRARIES:
            shutil.copy(Path("/lib/x86_64-linux-gnu") / name, libraries)
        for name in ("lib64", "tmp", "data"):
            (folder / name).mkdir()
        shutil.copy(libraries / "ld-linux-x86-64.so.2", folder / "lib64")
        is_near = binary.stat().st_dev == folder.stat().st_dev
        (os.link if is_near else shutil.copy)(binary, folder / "testimonials")
        # Only root may change the root; anybody is root in a namespace of their own.
        as_root = [] if os.geteuid() == 0 else ["unshare", "--map-root-user"]
        chroot = shutil.which("chroot", path=f"{os.defpath}:/usr/sbin:/sbin")
        assert chroot is not None
        self.command = [*as_root, chroot, str(folder), "/testimonials"]
        self.environment = {"TESTIMONIALS_INSTANCE_PATH": "/data"}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_program([*self.command, *arguments], env=self.environment, timeout=120)

    def serve(self, *flags: str, **settings: str) -> Service:
        named = {f"TESTIMONIALS_{name.upper()}": value for name, value in settings.items()}
        environment = self.environment | named
        return start_service(self.folder, flags, {}, command=self.command, environment=environment)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, binary: Path) -> EmptyRoot:
    return EmptyRoot(tmp_path_factory.mktemp("binary") / "root", binary)


@pytest.fixture(scope="module")
def served(root: EmptyRoot) -> Iterator[Service]:
    service = root.serve("--workers", "2")
    yield service
    service.kill()


def test_it_is_small(binary):
    assert binary.stat().st_size <= LARGEST


def test_everything_in_it_has_a_licence(binary, tmp_path):
    file = tmp_path / "sbom.json"
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1760000000"}
    command = [sys.executable, PROJECT / "packaging" / "sbom.py", binary, file]
    subprocess.run(command, check=True, timeout=300, env=environment)
    document = json.loads(file.read_text())
    parts = document["components"]
    assert document["metadata"]["timestamp"] == "2025-10-09T08:53:20Z"
    assert all(part["licenses"][0]["expression"] for part in parts)
    assert len({part["bom-ref"] for part in parts}) == len(parts)
    names = {part["name"] for part in parts}
    # Packages, what they bring, this machine's libraries, fonts, the language, and the starter.
    wanted = {"Flask", "pillow", "psycopg-binary", "HarfBuzz", "PostgreSQL", "OpenSSL", "SQLite"}
    assert names >= wanted | {"Fraunces", "FriBiDi", "CPython", "PyInstaller bootloader"}
    optional = {part["name"] for part in parts if part.get("scope") == "optional"}
    assert optional >= {"sentry-sdk"}
    assert not optional & {"pillow", "Flask"}


def test_it_goes_the_whole_way_of_an_agent(root, served):
    assert "Testimonials" in served.call("GET", "/").body.decode()
    headers = served.sign_up()
    project = served.call("POST", "/v1/projects", {"slug": "kiln"}, headers).data["_id"]
    values = {"authorName": "Zoë", "text": "Straightaway."}
    path = f"/v1/projects/{project}/testimonials"
    assert served.call("POST", path, values, headers).status == 200
    assert served.call("GET", f"/widget/{project}/feed").json["total"] > 1
    # Templates, catalogs, static files, and what Pillow draws with.
    page = served.call("GET", "/kiln", headers={"Accept-Language": "de"}).body.decode()
    assert 'lang="de"' in page
    assert served.call("GET", "/widget/v1.js").body == build_script(*WALL)
    picture = served.call("GET", _find_picture(served, page))
    assert picture.body.startswith(b"\x89PNG")
    # Without any font or library of the machine.
    values = {"authorName": "田中 愛子", "text": "الخبز رائع 👍🏽 ありがとう", "rating": 5}
    row = served.call("POST", path, values, headers).data["_id"]
    drawn = served.call("GET", f"{path}/{row}/picture?look=night", headers=headers)
    assert (drawn.status, drawn.body[:4]) == (200, b"\x89PNG")
    # A process beside the worker, where there is no interpreter to start.
    assert send_photo(served, to_bytes(photo(), "JPEG")).status == 200
    assert served.call("GET", "/docs").status == 200
    # A password is judged by word lists, an address by the list of throwaway domains.
    refused = served.call("POST", "/v1/auth/agent-init", {"email": "x@mailinator.com"})
    assert refused.status == 400
    # A table and an archive go out and in, beside the running service.
    (root.folder / "data" / "table.csv").write_text("Name,Words\nLi,Straightaway.\n")
    for arguments in (
        ("projects", "export", "kiln", "/data/kiln.zip"),
        ("projects", "import", "/data/kiln.zip", "--account", "owner@example.com", "--slug", "two"),
        ("testimonials", "import", "two", "/data/table.csv", "--map", "text=Words"),
    ):
        done = root.run(*arguments)
        assert done.returncode == 0, (arguments, done.stderr)
    assert "Li" in root.run("testimonials", "list", "two").stdout
    assert "Traceback" not in "".join(served.output)


def test_passkeys_work_in_it_and_nothing_is_left_when_it_is_killed(tmp_path, binary):
    root = EmptyRoot(tmp_path / "root", binary)
    service = root.serve("--workers", "2", base_url="http://words.example")
    made = json.loads(root.run("accounts", "create", "a@example.com", "--no-mail", "--json").stdout)
    claim = urlsplit(made["claimLink"]).path
    with httpx.Client(base_url=service.url, headers={"Sec-Fetch-Site": "same-origin"}) as browser:
        page = browser.get(claim).text
        seen = page.partition('name="key_seen" value="')[2].partition('"')[0]
        form = {"key_seen": seen, "key": "keep", "password": PASSWORD}
        assert browser.post(claim, data=form).status_code == 303
        device = Device(origin="http://words.example", host="words.example")
        begun = browser.post(f"{SECURITY}/passkeys/begin").json()
        answer = json.dumps(device.make(begun["options"]["challenge"]))
        form = {"passkey": answer, "passkey_token": begun["token"], "name": "Phone"}
        assert browser.post(f"{SECURITY}/passkeys", data=form).status_code == 303
    # What unpacked it, the parent, two workers, and maybe what judged the password.
    everybody = wait_for(
        lambda: len(found := _descendants(service.process.pid)) >= 3 and found, what="the workers"
    )
    service.process.kill()
    service.process.wait(PATIENCE)
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in everybody), what="their end")
    service.kill()


def _find_picture(service: Service, page: str) -> str:
    address = page.partition('property="og:image" content="')[2].partition('"')[0]
    return address.removeprefix(service.url)


def test_an_upgrade_beside_takes_nothing_from_a_running_one(tmp_path, binary):
    """What it has not read yet it reads from itself, in both workers, unless there is no /proc."""
    program = Path(shutil.copy(binary, tmp_path / "testimonials"))
    environment = {"TESTIMONIALS_INSTANCE_PATH": str(tmp_path / "data")}
    service = start_service(
        tmp_path, ("--workers", "2"), {}, command=[str(program)], environment=environment
    )
    try:
        headers = service.sign_up()
        assert service.call("POST", "/v1/projects", {"slug": "kiln"}, headers).status == 200
        newer = tmp_path / "newer"
        newer.write_text("Another version.")
        newer.replace(program)
        # Pillow and its libraries, for the first time, and in both workers at once.
        picture = _find_picture(service, service.call("GET", "/kiln").body.decode())
        # More at once would be told to come back, since few pictures wait to be drawn.
        with ThreadPoolExecutor(2) as pool:
            pictures = list(pool.map(lambda _: service.call("GET", picture).body, range(16)))
        assert all(content.startswith(b"\x89PNG") for content in pictures)
        assert service.stop() == 0
        assert "Traceback" not in "".join(service.output)
    finally:
        service.kill()


def test_admin_commands_work_in_it(tmp_path, binary):
    """One of each kind: what is frozen lacks a module only where it is first wanted."""
    root = EmptyRoot(tmp_path / "root", binary)
    upgraded = f"The database was upgraded from empty to {head()}.\n"
    assert root.run("db", "upgrade").stdout == upgraded
    made = root.run("accounts", "create", "owner@example.com", "--no-mail")
    assert made.returncode == 0, made.stderr
    for arguments in (
        ("config", "show"), ("db", "check"), ("backup", "/data/backup.tar.gz"),
        ("restore", "/data/backup.tar.gz", "--dry-run"),
        ("accounts", "export", "owner@example.com", "/data/account.zip"),
    ):  # fmt: skip
        done = root.run(*arguments, "--json")
        assert done.returncode == 0, (arguments, done.stderr)
        json.loads(done.stdout)
    # Listing the groups loads the modules of all commands.
    assert {"accounts", "mail", "testimonials"} <= set(root.run("--help").stdout.split())
    findings = root.run("doctor")
    assert "Traceback" not in findings.stdout + findings.stderr
    root.environment |= {"TESTIMONIALS_SENTRY_DSN": "https://key@sentry.example.com/1"}
    lacking = root.run("accounts", "list")
    assert lacking.returncode == 1
    assert lacking.stderr.startswith("Error: TESTIMONIALS_SENTRY_DSN needs an extra package")


def _descendants(pid: int) -> set[int]:
    found: set[int] = set()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for child in map(int, children):
        found |= {child} | _descendants(child)
    return found


def test_it_works_with_postgresql_and_redis(tmp_path, binary, empty_postgres, redis_url):
    root = EmptyRoot(tmp_path / "root", binary)
    service = root.serve(database_url=empty_postgres, ratelimit_storage_url=redis_url)
    try:
        assert service.call("POST", "/v1/projects", {}, service.sign_up()).status == 200
        assert not (root.folder / "data" / "testimonials.db").exists()
        assert service.stop() == 0
    finally:
        service.kill()
