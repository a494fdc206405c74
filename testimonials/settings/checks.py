"""What the settings' checks share: how one is refused, and what another part needs of them."""

from importlib.util import find_spec
from typing import NoReturn

from testimonials.settings.secret import SettingError

PREFIX = "TESTIMONIALS_"
# What a host begins with that is the path of a unix socket.
UNIX = "unix:"


def refuse(origin: str, problem: str) -> NoReturn:
    """Raise `SettingError` with where the value stands and what it must be."""
    raise SettingError(f"{origin} {problem}")


def require_extra(name: str, value: str, start: str, module: str, extra: str) -> None:
    """Refuse a value that begins with `start` where the package that it needs is missing."""
    if value and value.startswith(start) and find_spec(module) is None:
        refuse(PREFIX + name, f"needs a package more: pip install 'testimonials[{extra}]'")


def listening_url(host: str, port: int) -> str:
    """Return the address under which a browser on this machine reaches `host` and `port`."""
    if host.startswith(UNIX):
        # Only the proxy in front knows another one.
        return "http://localhost"
    bare = host.strip("[]")
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(bare, bare)  # noqa: S104 - compared, not bound
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
