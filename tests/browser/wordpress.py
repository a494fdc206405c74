"""Debian's WordPress with our plugin, a MariaDB of its own, and PHP's web server."""

import contextlib
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.support.servers import free_port, wait_for

SOURCE = Path("/usr/share/wordpress")
PLUGIN = Path(__file__).parents[2] / "packages" / "wordpress" / "testimonials-widget"
PASSWORD = "three blue wardrobes"
CONFIG = """<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:%(socket)s');
define('DB_CHARSET', 'utf8mb4');
define('AUTOMATIC_UPDATER_DISABLED', true);
define('DISABLE_WP_CRON', true);
define('WP_DEBUG', true);
define('WP_DEBUG_LOG', '%(log)s');
define('WP_DEBUG_DISPLAY', false);
define('WP_HOME', '%(url)s');
define('WP_SITEURL', '%(url)s');
$table_prefix = 'wp_';
defined('ABSPATH') || define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""
# The service of the tests is on this machine, which WordPress asks no addresses of; and it may ask
# nobody else.
LOCAL = """<?php
add_filter('http_request_host_is_external', '__return_true');
add_filter('http_allowed_safe_ports', fn ($ports) => array_merge($ports, [%(port)s]));
add_filter('pre_http_request', fn ($answer, $arguments, $url) =>
    str_contains($url, '127.0.0.1') ? $answer : new WP_Error('offline', $url), 10, 3);
"""
THEME = """<!doctype html><html <?php language_attributes(); ?>><meta charset="utf-8">
<title>WordPress</title><link rel="icon" href="data:,"><?php wp_head(); ?>
<body><?php while (have_posts()) { the_post(); the_content(); } wp_footer(); ?>
"""
INSTALL = """
define('WP_INSTALLING', true);
require 'wp-load.php';
require ABSPATH . 'wp-admin/includes/admin.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
add_filter('pre_wp_mail', '__return_true');
wp_install('Kiln & Clay', 'owner', 'owner@example.com', false, '', '%(password)s');
switch_theme('plain');
"""


class WordPress:
    """A running site; `run` executes PHP in it, as the user of an id if given."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url

    @property
    def complaints(self) -> str:
        """What PHP complained about in the plugin, and whatever ended it."""
        log = self.folder / "php.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return "\n".join(each for each in lines if PLUGIN.name in each or "Fatal" in each)

    def run(self, code: str, *, loads: bool = True) -> str:
        start = "require 'wp-load.php'; require ABSPATH . 'wp-admin/includes/admin.php';"
        finished = subprocess.run(
            ["php", "-r", (start if loads else "") + code],
            cwd=self.folder, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        said = finished.stdout[-500:] + finished.stderr + self.complaints
        assert finished.returncode == 0, said
        return finished.stdout


@contextlib.contextmanager
def start_wordpress(folder: Path, service_port: int) -> Iterator[WordPress]:
    """Install a site into `folder`, which may ask the service at this port."""
    with contextlib.ExitStack() as stack:
        database = folder / "database.sock"
        _start_mariadb(stack, folder / "data", database)
        site = folder / "site"
        shutil.copytree(SOURCE, site, ignore=shutil.ignore_patterns("wp-content", "wp-config.php"))
        content = site / "wp-content"
        (content / "themes" / "plain").mkdir(parents=True)
        (content / "themes" / "plain" / "style.css").write_text("/* Theme Name: Plain */")
        (content / "themes" / "plain" / "index.php").write_text(THEME)
        (content / "mu-plugins").mkdir()
        (content / "mu-plugins" / "local.php").write_text(LOCAL % {"port": service_port})
        shutil.copytree(PLUGIN, content / "plugins" / PLUGIN.name)
        port = free_port()
        wordpress = WordPress(site, f"http://localhost:{port}")
        values = {"socket": database, "log": site / "php.log", "url": wordpress.url}
        (site / "wp-config.php").write_text(CONFIG % values)
        wordpress.run(INSTALL % {"password": PASSWORD}, loads=False)
        _start(
            stack, "php", "-S", f"localhost:{port}", "-t", str(site),
            environment={"PHP_CLI_SERVER_WORKERS": "4"},
        )  # fmt: skip
        wait_for(lambda: _answers(wordpress.url), what="PHP's web server")
        yield wordpress


def _start_mariadb(stack: contextlib.ExitStack, data: Path, database: Path) -> None:
    account = f"--user={'root' if os.getuid() == 0 else os.environ.get('USER', '')}"
    options = ["--no-defaults", f"--datadir={data}", account]
    subprocess.run(
        ["mariadb-install-db", *options, "--auth-root-authentication-method=normal",
         "--skip-test-db"],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    _start(stack, "mariadbd", *options, "--skip-networking", f"--socket={database}",
           "--innodb-flush-log-at-trx-commit=0", f"--pid-file={data}/pid")  # fmt: skip
    ask = ["mariadb", "--no-defaults", f"--socket={database}", "--user=root", "--execute"]
    create = [*ask, "CREATE DATABASE IF NOT EXISTS wordpress"]
    wait_for(
        lambda: subprocess.run(create, capture_output=True, timeout=30).returncode == 0,
        what="MariaDB",
    )


def _start(
    stack: contextlib.ExitStack, *command: str, environment: dict[str, str] | None = None
) -> None:
    process = subprocess.Popen(
        command, env=os.environ | (environment or {}), stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, process_group=0,
    )  # fmt: skip
    stack.callback(_stop, process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    # PHP's web server has workers of its own.
    os.killpg(process.pid, 15)
    process.wait(30)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
