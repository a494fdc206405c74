"""A boundary for parsers: any exception caused by input from outside becomes a refusal."""

import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from zipfile import BadZipFile

# What parsers raise for malformed input. UnicodeError is a ValueError, KeyError and IndexError are
# LookupErrors, OverflowError is an ArithmeticError, RecursionError and NotImplementedError are
# RuntimeErrors. MemoryError and OSError aren't included: they are about this machine.
FAULTS = (
    ArithmeticError, AttributeError, BadZipFile, EOFError, LookupError, RuntimeError, TypeError,
    ValueError, struct.error, zlib.error,
)  # fmt: skip


@contextmanager
def refusing(refuse: Callable[[Exception], Exception], *more: type[Exception]) -> Iterator[None]:
    """Turn each of FAULTS, or an exception in `more`, into what `refuse` returns for it.

    This also works as a decorator. The parser itself still has to limit time and memory.
    """
    caught: tuple[type[Exception], ...] = (*FAULTS, *more)
    try:
        yield
    except caught as fault:
        raise refuse(fault) from fault
