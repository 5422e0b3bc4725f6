// Package format answers: "how is this row written as a line of JSON, as a line of CSV, as a row of Parquet?"
//
// Its main type is Writer. It takes rows as text, one value a column, nil for NULL, and keeps none of them: JSON lines and CSV
// hold one row at a time, Parquet one group of rows of bounded size.
//
// Invariant: no value is changed silently. Integers keep all their digits in every format. What a format has no word for is
// counted, and Writer.Lost says so.
//
// It knows no server: it is pure.
package format
