#!/bin/sh
# Time and memory of the default model on 50,000 rows, and of predicting 200,000: the figures of docs/book/src/calibration.md.
#
#     docs/benchmarks/large.sh
#
# `tractable` is taken from the path, and GNU time from /usr/bin. Nothing else should run beside it.
set -eu
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT

# A smooth function of eight inputs with noise; random numbers that are the same everywhere.
awk 'function uniform() { state = (16807 * state) % 2147483647; return state / 2147483647 }
  BEGIN { state = 1; print "a,b,c,d,e,f,g,h,y"
    for (n = 0; n < 250000; n++) {
      line = ""; for (i = 1; i <= 8; i++) { x[i] = 4 * uniform() - 2; line = line x[i] "," }
      print line sin(2 * x[1]) + x[2] * x[3] - x[4] / 2 + uniform() + uniform() + uniform() - 1.5 } }' >"$dir/all.csv"
head -50001 "$dir/all.csv" >"$dir/rows.csv"
{ head -1 "$dir/all.csv"; tail -200000 "$dir/all.csv"; } >"$dir/new.csv"

measured() { /usr/bin/time -f "    %e s, %U s of all cores, %M KiB" "$@"; }
echo "train, 50,000 rows"
measured tractable train "$dir/rows.csv" --target y -o "$dir/run"
echo "predict, 200,000 rows"
measured tractable predict "$dir/run" "$dir/new.csv" -o "$dir/predicted.csv"
