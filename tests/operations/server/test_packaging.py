"""The wheel, and the files in `packaging/` as far as they can be checked without their programs."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import testimonials
from testimonials.core.settings.table import unknown_variables
from tests.support.process import Service, clean_environment, run_program, start_service

pytestmark = [pytest.mark.process, pytest.mark.thorough]

PROJECT = Path(testimonials.__file__).parent.parent
PACKAGE = "testimonials"
SOURCES = ("pyproject.toml", "setup.py", "README.md", "LICENSE")


def build(source: Path) -> Path:
    """Build the wheel of a folder, as a release does."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    environment = os.environ | {
        "SOURCE_DATE_EPOCH": "1760000000",
        "PIP_CONSTRAINT": str(PROJECT / "packaging" / "build-constraints.txt"),
    }
    made = ["--no-deps", "--wheel-dir", source / "made", source]
    subprocess.run([*pip, *made], check=True, timeout=300, env=environment)
    (built,) = (source / "made").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy, so that no build of earlier days slips into it."""
    source = tmp_path_factory.mktemp("source")
    for name in SOURCES:
        shutil.copy(PROJECT / name, source)
    # As a fresh clone has it.
    left_out = shutil.ignore_patterns("__pycache__", "*.mo")
    shutil.copytree(PROJECT / PACKAGE, source / PACKAGE, ignore=left_out)
    return build(source)


@pytest.fixture(scope="module")
def wheel(request: pytest.FixtureRequest) -> Path:
    """That of a release, or the one above."""
    return Path(os.environ.get("TESTS_WHEEL") or request.getfixturevalue("built"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of a fresh environment with the wheel.

    Its libraries are those of the tests, but those of a release are installed with it.
    """
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install"]
    if os.environ.get("TESTS_WHEEL"):
        versions = ("--constraint", PROJECT / "constraints.txt")
        subprocess.run([*pip, "--quiet", *versions, wheel], check=True, timeout=300)
        return folder / "bin" / "testimonials"
    subprocess.run([*pip, "--quiet", "--no-deps", "--no-index", wheel], check=True, timeout=300)
    # A line of a .pth file is a folder to look in; the .pth files in that one count for nothing,
    # so the checkout that is installed there can't be found.
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "testimonials"


@pytest.fixture
def served(installed: Path, tmp_path: Path) -> Iterator[Service]:
    service = start_service(tmp_path / "instance", (), {}, command=(str(installed),))
    yield service
    service.kill()


def test_the_same_sources_make_the_same_wheel(built, tmp_path):
    """In another folder, with files of another time."""
    source = tmp_path / "another/folder"
    with zipfile.ZipFile(built) as archive:
        archive.extractall(source, [name for name in archive.namelist() if "dist-info" not in name])
    for file in SOURCES:
        shutil.copy(PROJECT / file, source)
    assert build(source).read_bytes() == built.read_bytes()


def test_the_wheel_holds_every_file_of_the_package(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith(f"{PACKAGE}/")}
    there = {
        str(path.relative_to(PROJECT))
        for path in (PROJECT / PACKAGE).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == there
    assert len(there) > 200


def test_the_installed_command_is_that_of_the_wheel(installed, tmp_path):
    environment = clean_environment(tmp_path / "instance", {})
    done = run_program([installed, "--version"], env=environment, cwd=tmp_path)
    assert done.stdout == f"testimonials, version {testimonials.__version__}\n"
    script = "import testimonials; print(testimonials.__file__)"
    found = run_program([installed.with_name("python"), "-c", script], cwd=tmp_path, check=True)
    assert Path(found.stdout).is_relative_to(installed.parent.parent)


def test_the_installed_command_serves(served):
    headers = served.sign_up()
    project = served.call("POST", "/v1/projects", {"slug": "kiln"}, headers).data["_id"]
    assert served.call("GET", f"/widget/{project}/feed").status == 200
    assert served.call("GET", "/kiln", headers={"Accept-Language": "ar"}).status == 200
    assert served.call("GET", "/widget/v1.js").status == 200
    assert served.stop() == 0


def test_the_units_are_understood_and_the_service_is_hardened(tmp_path):
    program = shutil.which("systemd-analyze")
    assert program is not None, "systemd-analyze is not installed; scripts/test installs it."
    text = (PROJECT / "packaging" / "testimonials.service").read_text()
    # The one thing that this machine lacks is the installed program.
    text, count = re.subn(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE)
    assert count == 1
    # By itself systemd kills a start after 90 seconds, however long an upgrade takes.
    assert re.findall("^TimeoutStartSec=(.+)", text, re.MULTILINE) == ["infinity"]
    unit = tmp_path / "testimonials.service"
    unit.write_text(text)
    shutil.copy(PROJECT / "packaging" / "testimonials.socket", tmp_path)
    for each in (unit, tmp_path / "testimonials.socket"):
        verified = run_program([program, "verify", "--man=no", each])
        assert (verified.returncode, verified.stderr) == (0, "")
    # Exposure in tenths, from 0 to 100; a unit without hardening has 96.
    rated = run_program([program, "security", "--offline=true", "--threshold=20", unit])
    assert rated.returncode == 0, rated.stdout[-300:]


def test_the_image_is_made_of_what_it_copies():
    """Nothing that the Dockerfile copies is kept from it, and it doesn't run as root."""
    lines = (PROJECT / "Dockerfile").read_text().splitlines()
    let_in = {
        line[1:] for line in (PROJECT / ".dockerignore").read_text().splitlines() if line[0] == "!"
    }
    copied = {
        word
        for line in lines
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    }
    assert copied == let_in
    assert {*SOURCES, PACKAGE} <= copied
    assert [line.split()[1] for line in lines if line.startswith("USER ")] == [PACKAGE]
    assert all(os.path.exists(PROJECT / name) for name in copied)


def test_compose_files_name_what_there_is():
    service = yaml.safe_load((PROJECT / "compose.yaml").read_text())["services"]["testimonials"]
    more = yaml.safe_load((PROJECT / "compose.postgres.yaml").read_text())["services"]
    names = {*service["environment"], *more["testimonials"]["environment"]}
    assert unknown_variables(dict.fromkeys(names, "")) == []
    image = (PROJECT / "Dockerfile").read_text()
    (volume,) = re.findall(r"(?m)^VOLUME (\S+)", image)
    (port,) = re.findall(r"(?m)^EXPOSE (\S+)", image)
    assert [each.partition(":")[2] for each in service["volumes"]] == [volume]
    # The proxy is on the same machine, and nobody else gets past it.
    assert service["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert more["testimonials"]["depends_on"].keys() == more.keys() - {"testimonials"}
