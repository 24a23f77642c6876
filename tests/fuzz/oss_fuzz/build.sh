#!/bin/bash -eu
# Build the fuzz targets as OSS-Fuzz asks: one program, one corpus and perhaps one dictionary for each target, in $OUT.
# OSS-Fuzz sets CC, CFLAGS (with the sanitizer), OUT; outside of it: OUT=folder compile_python_fuzzer=… build.sh
cd "$SRC/fastbpe"
export FASTBPE_FAST_BUILD=1
pip3 install --quiet pytest hypothesis regex ".[numpy]"
fuzz=$PWD/tests/fuzz
PYTHONPATH=$PWD/tests python3 "$fuzz/seeds.py" "$WORK/seeds"
dictionary_of() { PYTHONPATH=$PWD/tests python3 -c "from fuzz.run import DICTIONARIES; print(DICTIONARIES.get('$1', ''))"; }
for target in $(PYTHONPATH=$PWD/tests python3 -c 'from fuzz.run import names; print(*names())'); do
    cat >"$WORK/fuzz_$target.py" <<PROGRAM
import sys
from fuzz.run import target
target("$target")
PROGRAM
    (cd "$WORK" && PYTHONPATH=$fuzz/.. compile_python_fuzzer "fuzz_$target.py" --paths "$fuzz/..")
    (cd "$WORK/seeds/$target" && zip --quiet -r "$OUT/fuzz_${target}_seed_corpus.zip" .)
    dictionary=$(dictionary_of "$target")
    [ -z "$dictionary" ] || cp "$fuzz/dictionaries/$dictionary.dict" "$OUT/fuzz_$target.dict"
done
