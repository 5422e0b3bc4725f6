// Package explain says what each code means that Stowage prints: the cause, the evidence, the remedy, and which verb says it.
//
// Its data is one table, codes.txt, and the rules of package tune. A test reads the source of all packages, finds every code that can be
// printed, and compares it with the table, both ways; docs/reference/codes.md is made from the same data. It is pure.
package explain
