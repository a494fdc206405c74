"""Sites that have testimonials put in when they are built: truly built, with what others would use."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.browser.conftest import Project, Site
from tests.browser.pages import WATCH_SHIFTS
from tests.browser.widget.test_npm_package import PACKAGES, install, run, serving
from tests.support.rows import change_testimonial
from tests.support.servers import free_port

EXAMPLES = PACKAGES / "static-examples"
COMMAND = "node_modules/.bin/testimonials-static"
BUILD = (COMMAND, "build", "--pictures", "static/testimonials", "--path", "/testimonials/")
FACES = "testimonials/*.png"


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    return install("testimonials-static", EXAMPLES, tmp_path)


@pytest.fixture
def project(site: Site) -> Project:
    """A project with three testimonials, one with a face of this service and one with none."""
    project = site.create_project()
    face = f"{site.url}/{project.slug}/share.png"
    # It is drawn for whoever asks first, after all else that a busy machine does; a build waits for
    # half a minute.
    assert site.service.call("GET", f"/{project.slug}/share.png").status == 200
    for number, avatar in enumerate((face, "", f"{site.url}/nowhere.png")):
        body = {"authorName": "Maya {{ 7*7 }}", "text": f"Words no. {number}", "rating": 5}
        project.call("POST", "/testimonials", body | ({"authorAvatar": avatar} if avatar else {}))
    return project


DEEP = [pytest.param(name, marks=pytest.mark.deep) for name in ("hugo", "next")]


@pytest.fixture(params=["astro", "eleventy", *DEEP])
def built(request: pytest.FixtureRequest, fresh: Path, project: Project) -> Path:
    """What a generator has built of the newest three."""
    address = f"{project.site.url}/widget/{project.id}/fragment?limit=3"
    return build(request.param, fresh, address)


def build(name: str, fresh: Path, address: str) -> Path:
    folder = fresh / name
    tools = EXAMPLES / "node_modules" / ".bin"
    quiet = {"TESTIMONIALS": address, "ASTRO_TELEMETRY_DISABLED": "1"}
    if name == "astro":
        run(tools / "astro", "build", folder=folder, **quiet)
        assert list(folder.glob(".astro/integrations/testimonials-static/*.d.ts"))
        return folder / "dist"
    if name == "eleventy":
        run(tools / "eleventy", "--quiet", folder=folder, **quiet)
        return folder / "_site"
    if name == "next":
        shutil.copy(EXAMPLES / "next" / "package.json", folder)
        run("npm", "install", "--silent", "--no-audit", *fresh.glob("*.tgz"), folder=folder)
        run("npm", "run", "build", folder=folder, **quiet, NEXT_TELEMETRY_DISABLED="1")
        return folder / "out"
    run(fresh / COMMAND, *BUILD[1:], "--html", "testimonials", f"home={address}", folder=folder)
    run("hugo", "--quiet", "--minify", folder=folder)
    return folder / "public"


def test_a_built_site_needs_no_script_asks_nobody_and_is_checked(open_page, project, fresh, built):
    with serving(built) as website:
        page = open_page("about:blank")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.add_init_script(WATCH_SHIFTS)
        page.goto(website, wait_until="networkidle")
        assert page.locator("[part~=card]").count() == 3
        assert page.get_by_text("Maya {{ 7*7 }}").count() == 3
        assert page.get_by_role("link", name="How we collect").count() == 1
        # A picture that can't be had leaves initials.
        assert page.locator("[part~=avatar] img").evaluate("img => img.naturalWidth") > 0
        (face,) = built.glob(FACES)
        if built.name == "out":
            # Next.js brings its own.
            assert all(url.startswith(website) for url in asked)
            return
        assert page.locator("script").count() == 0
        assert asked == [f"{website}/", f"{website}/{face.relative_to(built)}"]
        assert page.evaluate("shifted()") == 0
    run(fresh / COMMAND, "check", built, folder=fresh)
    # What is further down now is still shown; what was withdrawn isn't.
    for number in range(2):
        project.call("POST", "/testimonials", {"authorName": "Ada", "text": f"Newer {number}"})
    run(fresh / COMMAND, "check", built, folder=fresh)
    gone = next(each for each in project.stored() if each["text"] == "Words no. 2")
    change_testimonial(project.site.app, gone["_id"], status="rejected")
    failed = subprocess.run(
        [fresh / COMMAND, "check", built], capture_output=True, text=True, timeout=60
    )
    assert failed.returncode == 1
    assert failed.stderr == (
        f"index.html: the testimonial {gone['_id']} is no longer shown\nBuild the site again.\n"
    )


def test_a_build_fails_when_the_service_refuses_or_is_away(fresh, site):
    for address, problem in (
        (f"{site.url}/widget/0123456789abcdef01234567/fragment", "answered 404"),
        (f"http://127.0.0.1:{free_port()}/fragment", "can’t be reached (ECONNREFUSED)"),
    ):
        failed = subprocess.run(
            [fresh / COMMAND, *BUILD[1:], "--html", "testimonials", f"home={address}"],
            cwd=fresh,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (failed.returncode, failed.stderr) == (
            1,
            f"testimonials-static: {address} {problem}\n",
        )
