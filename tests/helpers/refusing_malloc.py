"""A malloc that fails at a chosen call, for processes that load it first."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

#: A malloc that fails once: at the nth call after arm(n), counting calls from our extensions and large ones.
REFUSING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
static long left;
static int only_own; /* refuse only allocations of our extensions */
void refuse_only_own(int yes) { only_own = yes; }
void arm(long n) { __atomic_store_n(&left, n, __ATOMIC_SEQ_CST); }
long still_left(void) { return __atomic_load_n(&left, __ATOMIC_SEQ_CST); }
static int refused(void *caller, size_t n_bytes) {
    Dl_info info;
    int is_own;
    if (still_left() <= 0) return 0;
    is_own = dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "fastbpe/_compiled");
    if (!is_own && (only_own || n_bytes < 1 << 16)) return 0;
    return __atomic_fetch_sub(&left, 1, __ATOMIC_SEQ_CST) == 1;
}
void *malloc(size_t n) { return refused(__builtin_return_address(0), n) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t of) {
    return refused(__builtin_return_address(0), n * of) ? NULL : __libc_calloc(n, of);
}
void *realloc(void *p, size_t n) { return refused(__builtin_return_address(0), n) ? NULL : __libc_realloc(p, n); }
"""


def build(folder: Path) -> Path | None:
    """Compile this malloc; return the library, or None without a compiler or glibc."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    source, library = folder / "refusing.c", folder / "refusing.so"
    source.write_text(REFUSING)
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
    return None if subprocess.run(command, capture_output=True, check=False).returncode else library


def loaded(library: Path) -> dict[str, str]:
    """Return the environment variables of a process that loads the library."""
    return {"LD_PRELOAD": str(library), "PYTHONMALLOC": "malloc"}
