// Package bench measures what a storage sustains: a barrage of loads, each
// named by its pattern, run by fio, repeated until the figures are sure enough
// or time is up.
//
// Run measures a directory and returns a result.Result, which says all that
// shaped it; RunDevice measures a device that disk.Claim made ours. A Profile is
// a list of loads (Load) and times; Quick takes two minutes, Full takes hours.
//
// What holds, whatever happens:
//
//   - Run never writes to anything but files it made, in a directory of its own
//     below the one it was given, and it leaves a tenth of the space free.
//   - That directory goes with the run. After a kill -9 the kernel ends fio
//     with us, and the next run in the same place removes what was left: only
//     directories with our marker in them, of runs that are over, and in them
//     only files whose names are ours.
//   - It changes no setting of the machine.
//
// It judges nothing: the arithmetic is in bench/stat, the meaning of a document
// in bench/result.
package bench
