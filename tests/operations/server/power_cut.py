"""What a power cut leaves: the bytes that a program had asked the disk to keep, and no others.

A library is loaded before the C library. Each time that a database's file is synced, it copies the
file as it is then into another folder; what is written later and never synced isn't in there.
"""

import subprocess
from pathlib import Path

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Reads by the descriptor that is open: closing another one would end SQLite's locks. */
static void keep(int fd) {
    static __thread char buffer[1 << 16];
    char link[64], from[PATH_MAX], part[2 * PATH_MAX], whole[2 * PATH_MAX], held[2 * PATH_MAX];
    const char *folder = getenv("SYNCED_FOLDER");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, from, sizeof from - 1);
    if (!folder || length < 0) return;
    from[length] = 0;
    const char *name = strrchr(from, '/');
    /* The journal of before the write-ahead log is gone when the program is. */
    if (!name || !strstr(name, ".db") || strstr(name, "-journal")) return;
    snprintf(part, sizeof part, "%s%s.part%d", folder, name, gettid());
    snprintf(whole, sizeof whole, "%s%s", folder, name);
    /* One at a time, or an older copy of a process that waits takes the place of a newer one. */
    snprintf(held, sizeof held, "%s%s.lock", folder, name);
    int turn = open(held, O_WRONLY | O_CREAT, 0600);
    flock(turn, LOCK_EX);
    int to = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    off_t place = 0;
    while ((length = pread(fd, buffer, sizeof buffer, place)) > 0) {
        if (write(to, buffer, length) != length) abort();
        place += length;
    }
    close(to);
    if (rename(part, whole)) abort();
    close(turn);
}

static int sync_and_keep(const char *name, int fd) {
    int (*sync)(int) = (int (*)(int)) dlsym(RTLD_NEXT, name);
    int result = sync(fd);
    if (!result) keep(fd);
    return result;
}

int fsync(int fd) { return sync_and_keep("fsync", fd); }
int fdatasync(int fd) { return sync_and_keep("fdatasync", fd); }
"""


def prepare_power_cut(folder: Path) -> dict[str, str]:
    """Return variables for a process whose synced files are to be kept in `folder`/synced."""
    synced, library = folder / "synced", folder / "power_cut.so"
    synced.mkdir()
    command = ["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", str(library), "-ldl"]
    subprocess.run(command, input=SOURCE, text=True, check=True)
    return {"LD_PRELOAD": str(library), "SYNCED_FOLDER": str(synced)}
