// Package stat is the arithmetic of a bench: how sure is a mean of few runs, do
// two of them differ, has a device settled, and what do the percentiles of
// several runs together say?
//
// Speeds are compared by ratio, so everything works on logarithms: a mean here
// is the geometric mean, and an interval is Student's t on the logarithms of
// whole runs. One run is one value. The thousands of operations within a run
// are not independent of each other, and counting them as if they were would
// make any difference look certain. (Hoefler and Belli, SC15, rules 5 to 8.)
//
// Percentiles of several runs come from their histograms added up, never from
// percentiles averaged.
//
// It is pure, and knows nothing of disks.
package stat
