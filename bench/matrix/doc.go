// Package matrix answers: "which of these ways to set a storage up is best here, and how sure is that?"
//
// Matrix is the question, as matrix.yaml asks it: axes of file system, mkfs and
// mount options, queue settings, RAID level and size. Cells are its answers to
// be measured, with the first of them twice: what a cell differs from itself by
// is what the others' differences are compared with. Document is the outcome.
//
// What holds: cells have names that differ; the order of a round follows from
// seed and round alone; a cell that could not be made keeps the reason as its
// result; every verdict is that of result.CompareWithin.
//
// It is pure: bench/trial measures, bench/testbed makes what is measured.
package matrix
