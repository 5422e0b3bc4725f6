// Package table writes rows of cells as text, each column beneath its head.
//
// It answers: "how wide is this column, and where does the next one begin?" A
// Table collects rows and writes them when it is flushed. Widths are in columns
// of a terminal, so that a name in Chinese or with combining accents keeps the
// rows even. No line ends in blanks, and a table without rows writes nothing,
// not even its head.
//
// It chooses no words, no units and no colours, and it never looks at the
// terminal: who calls it says how wide the writer is (Narrow), and which
// columns hold free text that may be cut for that (Table.Cut), or names that may
// lose their middle (Table.Names). To a writer without a width the same rows are
// the same bytes wherever they are written.
package table
