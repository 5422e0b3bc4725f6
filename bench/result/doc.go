// Package result is what a bench leaves behind: one document that says how fast
// a storage was, how sure that is, and everything that shaped it.
//
// Result is the document, as JSON the same wherever it was made. Compare holds
// two of them against each other, WriteCSV makes rows for a spreadsheet, Text
// and CompareText are for people. words.go has the words that other documents of
// benches say, too.
//
// A document is kept after every run, so Complete says whether it has come to
// its end; Settle makes the figures of a step from its runs and can be called
// again after each of them.
//
// It is pure: a result can be judged again years later, on another machine.
package result
