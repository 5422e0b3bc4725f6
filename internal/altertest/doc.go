// Package altertest changes tables on one side of a real pair, then on the other, while rows travel between them, and says what became of the rows.
//
// It answers: "is what schema.JudgeChange says of this change true?" Changes are drawn by a grammar over real table definitions (Shapes, Draw); Pair.Do does one as an act would, with rows of edge values
// written by the old side, then by the new, and compares every row, every index and every definition.
//
// It shares no code with the judge but the words of its judgement. For tests only.
package altertest
