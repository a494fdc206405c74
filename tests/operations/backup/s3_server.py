"""A real S3-compatible server, SeaweedFS, on free ports of the loopback."""

import contextlib
import json
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from tests.support.servers import free_port, wait_for

KEY, SECRET, BUCKET = "tests", "tests-secret", "published"
# Anybody may read.
IDENTITIES = {
    "identities": [
        {
            "name": KEY,
            "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "List", "Tagging", "Write"],
        },
        {"name": "anonymous", "actions": ["Read"]},
    ]
}


class S3Server:
    """A store with one bucket, which whoever writes to it makes."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="testimonials-s3-")
        ports = {
            f"{part}{kind}": free_port()
            for part in ("master.port", "volume.port", "filer.port", "s3.port")
            for kind in ("", ".grpc")
        }
        self.url = f"http://127.0.0.1:{ports['s3.port']}"
        config = Path(self._folder.name) / "s3.json"
        config.write_text(json.dumps(IDENTITIES))
        options = [f"-{name}={port}" for name, port in ports.items()]
        command = [
            str(Path(sys.executable).parent / "weed"),
            "server", f"-dir={self._folder.name}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
            "-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-volume.max=20",
            "-filer", "-s3", "-s3.port.iceberg=0", "-s3.port.lance=0",
            f"-s3.config={config}", *options,
        ]  # fmt: skip
        self._ports = set(ports.values())
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._folder.name,
        )
        try:
            wait_for(self._answers, what="the store")
        except BaseException:
            self.stop()
            raise

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a service that uses it."""
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.url,
        }

    def stop(self) -> None:
        """End it, and remove its files."""
        # Asked politely it would wait for ten seconds first.
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()
        # It can't be told to put these elsewhere.
        for port in self._ports:
            for path in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                path.unlink()

    def _answers(self) -> bool:
        with contextlib.suppress(OSError):
            try:
                urllib.request.urlopen(f"{self.url}/{BUCKET}/nothing", timeout=5).close()
            except urllib.error.HTTPError as error:
                # 404 once the filer is there too.
                return error.code == 404
        return False
