// Package digest answers: what was this database asked to do, how long did it take, and did that change?
//
// A Builder reads captures (slow logs, general logs, packet captures), folds every event into its class, and yields a
// Digest. A Digest is what is kept: exact counts and sums per class, a latency histogram, and the same in blocks of time.
// Digests merge, are stored, become a Report for people and programs, and two of them become a Comparison.
//
// Invariants:
//
//   - Every byte read is either part of an event, a server banner or blank, or is counted as skipped with a reason and
//     the offset of its first occurrence. Nothing is lost silently.
//   - Counts and sums are integers (nanoseconds, rows, bytes). Merging is exact and does not depend on order: shards
//     merged equal one pass over their concatenation. The one exception is stated in the report: classes folded away
//     because there were more than Options.MaxClasses.
//   - A quantile is within 0.8 % of the exact one, and never below the minimum or above the maximum. Where a source gives
//     sums and no single latencies there is no quantile, and nothing is put in its place.
//   - Text inside an SQL literal or a block comment is data, whatever it looks like. No user of the database can forge
//     an event by quoting a log header. (Line comments are another matter:
//     what follows one may be the statement's own, and is taken for that when it has no SET timestamp and the statement had
//     one. It is believed behind a semicolon in the code of a statement, and where the forger writes that line as well.)
//   - A comparison claims a change only where the evidence carries it, and says inconclusive otherwise. The unit of
//     evidence is a block of time, not an event: events of one second share the fate of that second.
//
// Where to look: source.go tells what a file is; samples.go keeps statements of a class; slowlog*.go, genlog*.go and capture*.go read the three kinds; ptqd*.go and
// lexer.go make fingerprints, shapes*.go spares making most of them; live*.go takes what is read from running servers, and
// summary.go their sums; builder.go, class.go, histogram.go, blocks.go, timing.go, tally.go and people.go add up; seen.go says what time it is about; digest.go
// merges, stored.go keeps; report.go, listing.go, text*.go and csv.go show; compare.go, trial.go and comparison.go compare, evidence.go
// and influence.go hold what they look at, spectrum.go says how far it may be off, common.go what the classes share; unpack.go
// reads what is compressed.
//
// The package never opens a file, a connection or a clock, and never logs: it reads an io.Reader and returns values.
// Facts about formats and about the reference program (pt-query-digest 3.2.1) stand beside the code they explain.
package digest
