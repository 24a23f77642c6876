# The everyday commands; each is one line that also works when pasted.

# build the core in place and install everything for development
setup:
    pip install -e ".[dev,numpy]"

build:
    python setup.py build_ext --inplace

test *args:
    pytest {{args}}

lint:
    ruff check . && ruff format --check . && mypy && python -m mypy.stubtest fastbpe._core --allowlist tools/stubtest-allowlist.txt

# the NEON scanners under emulation, on texts
neon *files:
    aarch64-linux-gnu-gcc -std=gnu11 -O2 -static -o build/scan_check tools/scan_check.c && qemu-aarch64 build/scan_check {{files}}

# ids and merges against the peers on real vocabularies and texts (needs FASTBPE_DATA)
exactness:
    python tools/exactness.py

bench *args:
    pytest benchmarks {{args}}

# the core under AddressSanitizer and UBSan
sanitize:
    FASTBPE_SANITIZE=1 python setup.py build_ext --inplace --force && LD_PRELOAD=$(gcc -print-file-name=libasan.so) PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 pytest -q -p no:cacheprovider
