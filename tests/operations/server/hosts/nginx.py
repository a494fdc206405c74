"""Debian's nginx with `packaging/nginx.conf`, in front of one host or several."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import testimonials
from tests.support.process import Service
from tests.support.servers import PATIENCE, is_listening, wait_for

PACKAGING = Path(testimonials.__file__).parent.parent / "packaging"
CONFIGURATION = PACKAGING / "nginx.conf"
BELOW_A_PATH = PACKAGING / "nginx-path.conf"
DEBIAN = Path("/etc/nginx/nginx.conf")


def replace_one(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


@contextmanager
def run_nginx(port: int, hosts: Sequence[Service]) -> Iterator[None]:
    """Run nginx on a port, configured as packaged, with a line for each host."""
    servers = "".join(f"server {host.url.removeprefix('http://')};\n" for host in hosts)
    site = replace_one(CONFIGURATION.read_text(), "server 127.0.0.1:8000;", servers)
    site = replace_one(site, "listen 80;", f"listen 127.0.0.1:{port};")
    # A package brings this folder, and nginx makes the one in it.
    assert Path("/var/cache").is_dir()
    with run_site(port, site):
        yield


@contextmanager
def run_below(path: str, port: int, service: str, others: int = 418) -> Iterator[None]:
    """Run nginx on a port with a service below a path; everything else there answers `others`."""
    rules = BELOW_A_PATH.read_text().replace("/testimonials", path)
    rules = replace_one(rules, "http://127.0.0.1:8000", service)
    site = f"server {{ listen 127.0.0.1:{port};\n{rules}\nlocation / {{ return {others}; }} }}"
    with run_site(port, site):
        yield


@contextmanager
def run_site(port: int, site: str) -> Iterator[None]:
    """Run nginx with a site that listens on a port, within Debian's own configuration."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/sbin")
    assert program is not None, "nginx is not installed; scripts/test installs it."
    # nginx's workers are another user, who can't look into the folders of a test.
    folder = Path(mkdtemp(prefix="nginx-"))
    folder.chmod(0o755)
    site = site.replace("/var/cache/nginx-testimonials", f"{folder}/cache")
    (folder / "site.conf").write_text(site)
    frame = DEBIAN.read_text()
    for old, new in (
        ("/run/nginx.pid", f"{folder}/pid"),
        ("/var/log/nginx/error.log", f"{folder}/error.log"),
        ("/var/log/nginx/access.log", "off"),
        ("include /etc/nginx/conf.d/*.conf", f"include {folder}/site.conf"),
        # Debian's own page is on port 80, which may be taken here.
        ("include /etc/nginx/sites-enabled/*;", ""),
    ):
        frame = replace_one(frame, old, new)
    (folder / "nginx.conf").write_text(f"daemon off;\n{frame}")
    command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf")]
    subprocess.run([*command, "-t", "-q"], check=True)
    process = subprocess.Popen(command)
    try:
        wait_for(lambda: (folder / "pid").exists() and is_listening(port), what="nginx")
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)
        shutil.rmtree(folder)
