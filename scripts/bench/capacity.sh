#!/usr/bin/env bash
# Compares forecasts with the truth of 500 generated series, beside a straight line and predict_linear. Called by scripts/bench.sh.
# The series are the same each time, so the machine's noise says nothing here.
source "$(dirname "$0")/common.sh"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

echo "==> bench capacity: 500 generated series" >&2
go test -v -count=1 -run 'IntervalsCover|PredictLinear' ./capacity >"$work/log" 2>&1 || { tail -20 "$work/log" >&2; die "a goal was not reached"; }
while IFS=$'\t' read -r what cover error tenth going_cover going_error going_tenth; do
	row capacity "| $(date -u +%F) | $what | $cover | $error | $tenth | $going_cover | $going_error | $going_tenth |"
done < <(sed -n 's/^.*FIGURE //p' "$work/log")
grep -q FIGURE "$work/log" || die "nothing was measured"
