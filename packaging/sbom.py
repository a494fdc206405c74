"""Writes what the one file and the wheel are made of, with licences, as CycloneDX 1.6.

Usage: sbom.py BINARY FILE, with the Python of the environment that built BINARY. Whatever is in the
file and isn't known here by its licence ends this with an error.
"""

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path
from typing import Any

import PyInstaller
from packaging.requirements import Requirement
from PyInstaller.archive.readers import CArchiveReader

Component = dict[str, Any]

PROJECT = "testimonials"
# What the wheel may bring with it.
EXTRAS = ("postgres", "redis", "metrics", "sentry")
LATE = ("late_cryptography", "late_pillow", "late_psycopg")
# Licences that packages name in words of their own, read from their licence files.
NAMED = {
    "anyascii": "ISC",
    "async-timeout": "Apache-2.0",
    "blinker": "MIT",
    "certifi": "MPL-2.0",
    "charset-normalizer": "MIT",
    "email-validator": "Unlicense",
    "flask-sqlalchemy": "BSD-3-Clause",
    "itsdangerous": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "markdown-it-py": "MIT",
    "mdurl": "MIT",
    "ordered-set": "MIT",
    "pyasn1": "BSD-2-Clause",
    "pyasn1-modules": "BSD-2-Clause",
    "pyopenssl": "Apache-2.0",
    "requests": "Apache-2.0",
    "segno": "BSD-3-Clause",
    "waitress": "ZPL-2.1",
    "zxcvbn": "MIT",
}
# Libraries in C that come with Python, Pillow and psycopg: how their files begin, and the licence.
LIBRARIES = {
    "libXau": ("libXau", "MIT"),
    "libbrotli": ("Brotli", "MIT"),
    "libcom_err": ("libcom_err", "MIT"),
    "libcrypt-": ("libcrypt", "LGPL-2.1-or-later"),
    "libcrypto": ("OpenSSL", "Apache-2.0"),
    "libexpat": ("Expat", "MIT"),
    "libffi": ("libffi", "MIT"),
    "libfreetype": ("FreeType", "FTL"),
    "libgcc_s": ("libgcc", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "libfribidi": ("FriBiDi", "LGPL-2.1-or-later"),
    "libgssapi_krb5": ("MIT Kerberos", "MIT"),
    "libharfbuzz": ("HarfBuzz", "MIT"),
    "libjpeg": ("libjpeg-turbo", "IJG AND BSD-3-Clause"),
    "libk5crypto": ("MIT Kerberos", "MIT"),
    "libkeyutils": ("keyutils", "LGPL-2.1-or-later"),
    "libkrb5": ("MIT Kerberos", "MIT"),
    "liblber": ("OpenLDAP", "OLDAP-2.8"),
    "libldap": ("OpenLDAP", "OLDAP-2.8"),
    "liblzma": ("XZ Utils", "0BSD"),
    "libopenjp2": ("OpenJPEG", "BSD-2-Clause"),
    "libpng": ("libpng", "libpng-2.0"),
    "libpq": ("PostgreSQL", "PostgreSQL"),
    "libpython": ("CPython", "Python-2.0.1"),
    "libsasl2": ("Cyrus SASL", "BSD-4-Clause-UC"),
    "libselinux": ("libselinux", "libselinux-1.0"),
    "libpcre": ("PCRE", "BSD-3-Clause"),
    "libsharpyuv": ("libwebp", "BSD-3-Clause"),
    "libsqlite3": ("SQLite", "blessing"),
    "libssl": ("OpenSSL", "Apache-2.0"),
    "libtiff": ("LibTIFF", "libtiff"),
    "libuuid": ("libuuid", "BSD-3-Clause"),
    "libwebp": ("libwebp", "BSD-3-Clause"),
    "libxcb": ("libxcb", "X11"),
    "libz.": ("zlib", "Zlib"),
    "libzstd": ("Zstandard", "BSD-3-Clause"),
}
FONTS = {
    "fraunces": ("Fraunces", "OFL-1.1"),
    "inter": ("Inter", "OFL-1.1"),
    "noto-sans": ("Noto Sans", "OFL-1.1"),
    "twemoji": ("Twemoji", "OFL-1.1 AND CC-BY-4.0"),
}


def describe_binary(path: str) -> list[Component]:
    """Return what is in the one file, each thing once."""
    archive = CArchiveReader(path)
    modules = archive.open_embedded_archive("PYZ.pyz")
    names = {name for name in archive.toc if not name.endswith((".pyz", "/"))}
    for late in LATE:
        filled: dict[str, Any] = {}
        exec(modules.extract(late), filled)  # noqa: S102 - what packaging/testimonials.spec wrote
        names |= filled["FILES"].keys()
    tops = {name.split(".")[0] for name in modules.toc} | {name.split("/")[0] for name in names}
    owners = packages_distributions()
    found = {each for top in tops for each in owners.get(top, ())}
    components = {name: describe_distribution(name, "required") for name in found - {PROJECT}}
    files = sorted(name.rpartition("/")[2] for name in names)
    versions = find_versions([file for file in files if is_library(file)])
    for file in files:
        if part := describe_file(file, versions.get(file, "")):
            components.setdefault(part["bom-ref"], part)
    python = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    starter = "GPL-2.0-or-later WITH Bootloader-exception"
    components["python"] = make_component("application", "CPython", python, "Python-2.0.1")
    components["starter"] = make_component(
        "application", "PyInstaller bootloader", PyInstaller.__version__, starter
    )
    return list(components.values())


def is_library(name: str) -> bool:
    return name.startswith("lib") and ".so" in name


def describe_file(name: str, version: str) -> Component | None:
    """Return the library or font that a file is, None for one of a package or of this program."""
    if not is_library(name) and not name.endswith(".woff2"):
        return None
    table = LIBRARIES if is_library(name) else FONTS
    start = next(filter(name.startswith, table), None)
    if start is None:
        raise SystemExit(f"{name} is in the file, and packaging/sbom.py doesn't know its licence.")
    title, licence = table[start]
    if title == "CPython":
        # It is there as a whole.
        return None
    part = make_component("library" if is_library(name) else "data", title, version, licence)
    # Libraries are named by their interface, which isn't their version.
    return part | {"bom-ref": name, "properties": [{"name": f"{PROJECT}:file", "value": name}]}


def find_versions(names: list[str]) -> dict[str, str]:
    """Return the versions of this machine's libraries by file; the others came with packages."""
    dpkg = shutil.which("dpkg-query")
    if dpkg is None:
        return {}
    lines = _ask(dpkg, "--search", *(f"*/{name}" for name in names)).splitlines()
    # Where several packages have a file of one name, the first counts.
    owners = {
        line.rpartition("/")[2]: line.partition(": ")[0].partition(",")[0]
        for line in reversed(lines)
    }
    shown = "--showformat=${Version}"
    return {name: _ask(dpkg, "--show", shown, owner) for name, owner in owners.items()}


def _ask(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip()


def list_optional() -> Iterator[str]:
    """Name all that the wheel needs with every extra, and what those need."""
    waiting, seen = [(PROJECT, EXTRAS)], set()
    while waiting:
        name, extras = waiting.pop()
        for text in distribution(name).requires or ():
            needed = Requirement(text)
            is_wanted = needed.marker is None or any(
                needed.marker.evaluate({"extra": extra}) for extra in (*extras, "")
            )
            key = needed.name.lower().replace("_", "-")
            if is_wanted and (key, tuple(sorted(needed.extras))) not in seen:
                seen.add((key, tuple(sorted(needed.extras))))
                waiting.append((needed.name, tuple(needed.extras)))
                yield needed.name


def describe_distribution(name: str, scope: str) -> Component:
    found = distribution(name)
    title, version = found.metadata["Name"], found.version
    part = make_component("library", title, version, find_licence(found))
    purl = f"pkg:pypi/{title.lower().replace('_', '-')}@{version}"
    return part | {"bom-ref": purl, "purl": purl, "scope": scope}


def find_licence(found: Distribution) -> str:
    """Return the licence as an SPDX expression; end this if it isn't known."""
    name = found.metadata["Name"].lower().replace("_", "-")
    if expression := found.metadata.get("License-Expression"):
        return str(expression)
    if name in NAMED:
        return NAMED[name]
    short = (found.metadata.get("License") or "").strip()
    if short in ("MIT", "BSD-3-Clause", "Apache-2.0"):
        return short
    raise SystemExit(f"packaging/sbom.py doesn't know the licence of {name}.")


def make_component(kind: str, name: str, version: str, licence: str) -> Component:
    part = {"type": kind, "bom-ref": f"{name}@{version}", "name": name}
    return (
        part | ({"version": version} if version else {}) | {"licenses": [{"expression": licence}]}
    )


def write_sbom(binary: str) -> dict[str, Any]:
    """Return the whole document, which is the same for the same file."""
    parts = {part["bom-ref"]: part for part in describe_binary(binary)}
    for name in list_optional():
        part = describe_distribution(name, "optional")
        parts.setdefault(part["bom-ref"], part)
    about = describe_distribution(PROJECT, "required")
    del about["scope"]
    time = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), UTC)
    components = sorted(parts.values(), key=lambda part: str(part["bom-ref"]).lower())
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([about, components]))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "timestamp": time.isoformat().replace("+00:00", "Z"),
            "component": about | {"type": "application"},
        },
        "components": components,
    }


if __name__ == "__main__":
    binary, file = sys.argv[1:]
    Path(file).write_text(json.dumps(write_sbom(binary), indent=1) + "\n", encoding="utf-8")
