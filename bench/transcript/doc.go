// Package transcript turns what other programs that measure storage have
// printed into results that compare, decide and report read: fio's JSON
// (2 and 3), DiskSpd's XML, SQLIO's text.
//
// Read takes the files and makes a result.Result of the kind
// result.Imported. Runs of one load, in one file or in several, become the
// samples of one step, so that it has an interval; a single run has none.
//
// What holds:
//
//   - A figure that the program did not print is 0, which is shown as not
//     known, and never made up. A percentile is never an average of two
//     directions or threads: where it cannot be added up it is not known.
//   - A step is named as bench run would name it where the load is one of
//     its own, and otherwise by what the file calls it.
//   - Input that cannot be read is refused with file and line.
package transcript
