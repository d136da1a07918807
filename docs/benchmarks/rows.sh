#!/bin/sh
# Rows that are not independent, and targets that are far off: the figures of docs/book/src/tables.md.
#
#     docs/benchmarks/rows.sh wine_red.csv [diamonds.csv]
#
# wine_red.csv: target `quality` (UCI). diamonds.csv: target `price` (the data set of ggplot2). `tractable` is taken from the path.
set -eu
wine=$1
diamonds=${2:-}
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT

# Random numbers that are the same everywhere.
random='function uniform() { state = (16807 * state) % 2147483647; return state / 2147483647 }
  function normal(  i, sum) { sum = -6; for (i = 0; i < 12; i++) sum += uniform(); return sum }
  BEGIN { state = seed; for (warm = 0; warm < 20; warm++) uniform() }'

# wave SEED ROWS: a function of two inputs with noise of .5.
wave() {
  awk -v seed="$1" -v rows="$2" "$random"' BEGIN { print "a,b,y"; for (n = 0; n < rows; n++) {
    a = 4 * uniform() - 2; b = 4 * uniform() - 2; print a "," b "," sin(2 * a) + b + normal() / 2 } }'
}
# friedman SEED ROWS EVERY: every so many-th target is a hundred times too large.
friedman() {
  awk -v seed="$1" -v rows="$2" -v every="$3" "$random"' BEGIN { print "a,b,c,d,e,y"; for (n = 1; n <= rows; n++) {
    for (i = 1; i <= 5; i++) x[i] = uniform()
    y = 10 * sin(3.14159265 * x[1] * x[2]) + 20 * (x[3] - .5)^2 + 10 * x[4] + 5 * x[5] + normal()
    print x[1] "," x[2] "," x[3] "," x[4] "," x[5] "," (n % every ? y : 100 * y) } }'
}
fit() { # NAME FILE TARGET FLAGS...
  name=$1; file=$2; target=$3; shift 3
  tractable -q train "$file" --target "$target" -o "$dir/$name" "$@" >"$dir/$name.txt"
  sed 's/^/    /' "$dir/$name.txt"
}

echo "100 rows, each ten times; 2,000 new rows"
wave 1 100 | awk 'NR == 1 { print $0 ",row" } NR > 1 { for (i = 0; i < 10; i++) print $0 "," ++row }' >"$dir/ten.csv"
wave 2 2000 >"$dir/new.csv"
for how in "copies apart:--group row" "copies together:--drop row"; do
  echo "  ${how%%:*}"
  fit ten "$dir/ten.csv" y ${how#*:} --force
  tractable -q evaluate "$dir/ten" "$dir/new.csv" | sed 's/^/    /'
done

echo "wine_red, rows left out"
awk 'NR == 1 { print $0 ",wine" } NR > 1 { if (!seen[$0]) seen[$0] = ++count; print $0 "," seen[$0] }' "$wine" >"$dir/wine.csv"
for how in "plain folds:--drop wine" "copies together:--group wine"; do
  echo "  ${how%%:*}"
  fit wine "$dir/wine.csv" quality ${how#*:} --force
done

echo "Friedman's function, 400 rows of which 4 have a target a hundred times too large; 2,000 new rows"
friedman 3 400 100 >"$dir/spoiled.csv"
friedman 4 2000 100000 >"$dir/clean.csv"
fit friedman "$dir/spoiled.csv" y
tractable -q evaluate "$dir/friedman" "$dir/clean.csv" | sed 's/^/    /'
awk -F, 'NR > 1 { n++; s += $6; q += $6^2 } END { printf "    standard deviation of the new targets %.4g\n", sqrt(q / n - (s / n)^2) }' "$dir/clean.csv"

if [ -n "$diamonds" ]; then
  echo "diamonds, .2 % of the prices a hundred times too large"
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) { gsub(/"/, "", $i); if ($i == "price") p = i } }
    NR > 1 && NR % 500 == 0 { $p = 100 * $p } { print }' OFS=, "$diamonds" >"$dir/diamonds.csv"
  fit diamonds "$dir/diamonds.csv" price --test 0.1
fi
