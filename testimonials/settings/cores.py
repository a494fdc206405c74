"""Processor cores: how many this process may use, and pinning it to one."""

import math
import os
from pathlib import Path


def count_cores() -> int:
    """Return how many cores this process may use, with a container's limit (cgroup v2)."""
    usable = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        allowed = math.ceil(int(quota) / int(period))
    except (OSError, ValueError):
        # No limit: it says "max", or there is no such file.
        allowed = usable
    return max(1, min(usable, allowed))


def pin_to_core(number: int) -> None:
    """Pin this process to one core, a different one for each number below the count of cores.

    Its threads would otherwise pass the interpreter's lock from core to core, which costs most of
    the speed.
    """
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[number % len(cores)]})
