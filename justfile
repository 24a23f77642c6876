# The everyday commands. Each line also works when pasted into a shell.

# install everything for development and build the core in place, so that later builds are incremental
setup:
    pip install "setuptools>=77" "cython>=3.1,<4"
    pip install --no-build-isolation -e ".[dev,numpy]"

# rebuild the extensions that have changed
build:
    python setup.py build_ext --inplace

test *args:
    pytest {{args}}

# every case in its long form: hours
test-full *args:
    FASTBPE_FULL=1 pytest {{args}}

# the static checks of CI
lint *checks:
    .ci/lint {{checks}}

# build the site, with warnings as errors, and serve it at http://localhost:8000
docs port="8000":
    python -m sphinx -W --keep-going -b html docs build/docs && python -m http.server {{port}} --bind 127.0.0.1 --directory build/docs

# everything that CI runs
ci:
    .ci/run

# coverage of Python and Cython, from a copy of the tree whose core counts its lines
coverage *args:
    .ci/coverage {{args}}

# the NEON scanners under emulation, on texts
neon *files:
    aarch64-linux-gnu-gcc -std=gnu11 -O2 -static -Ibuild/cython -o build/scan_check tools/scan_check.c && qemu-aarch64 build/scan_check {{files}}

# ids and merges against the peers on real vocabularies and texts (needs FASTBPE_DATA)
exactness:
    python tools/exactness.py

bench *args:
    pytest benchmarks {{args}}

# libstdc++ is loaded first, or an exception in pyarrow ends the run. UBSan ends the process at its first report, which
# goes to stderr: pytest would drop what a passing test writes there.
# the core under AddressSanitizer and UBSan
sanitize:
    FASTBPE_SANITIZE=1 python setup.py build_ext --inplace --force && LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libstdc++.so.6)" PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1 pytest -q -p no:cacheprovider --capture=sys

# A free-threaded Python and its modules must themselves be built with `./configure --disable-gil
# --with-thread-sanitizer`: TSan does not see the locks of other code, and reports races on what they protect. A process
# that had a race ends with status 66. FASTBPE_FULL=day runs more cases.
# the tests that call from several threads, with the core under ThreadSanitizer
sanitize-threads *tests="tests/threads tests/unit/test_free_threading.py tests/unit/test_contract.py tests/unit/test_memory.py tests/unit/core/test_batches.py tests/unit/core/test_parity_learner.py tests/unit/core/test_short_texts.py tests/unit/id_files/test_reader.py":
    FASTBPE_SANITIZE=thread python setup.py build_ext --inplace --force && LD_PRELOAD="$(gcc -print-file-name=libtsan.so)" TSAN_OPTIONS="suppressions=$PWD/tests/threads/tsan.txt die_after_fork=0" python -m pytest -q -p no:cacheprovider --capture=sys {{tests}}

# the fuzz targets, with the core under AddressSanitizer: an hour (needs clang, and `pip install atheris`)
fuzz seconds="3600" *targets:
    CC=clang FASTBPE_SANITIZE=fuzzer python setup.py build_ext --inplace --force && python tests/fuzz/run.py --preload --corpus build/corpus --seconds {{seconds}} {{targets}}
