package rows

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"stowage/mysql"
)

// Mismatch is a chunk of rows, or a definition, that differs between two servers.
type Mismatch struct {
	Table string
	Chunk string // its range of keys, or "all rows"; of what is not a row, what it is: "columns", "definition"
	Was   string // on the source
	Is    string // on the copy

	// Rows are the rows of the chunk that differ, counted and the first few named, where that was asked for.
	Rows *RowDiff

	of       *CopyTable // nil: it is no rows
	from, to []string
}

// OfRows says that it is of rows, and not of columns or a definition.
func (m Mismatch) OfRows() bool { return m.of != nil }

func (m Mismatch) String() string {
	text := fmt.Sprintf("%s %s: source %s, copy %s", m.Table, m.Chunk, m.Was, m.Is)
	if m.Rows != nil {
		text += ": " + m.Rows.String()
	}
	return text
}

// ChunkRows is how many rows are summed at a time: short enough to stop
// within a second or so, long enough that the round trips do not matter.
const ChunkRows = 50000

func chunkName(from, to []string) string {
	if from == nil && to == nil {
		return "all rows"
	}
	end := func(key []string, otherwise string) string {
		if key == nil {
			return otherwise
		}
		return ShowKey(key)
	}
	return fmt.Sprintf("key > %s and <= %s", end(from, "start"), end(to, "end"))
}

// ShowKey is a key of literals as people read it: (7, anna).
func ShowKey(key []string) string {
	parts := make([]string, len(key))
	for i, k := range key {
		parts[i] = showLiteral(k)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// showLiteral: text that is UTF-8 as it is; other bytes, and what wide character sets have instead of text, as 0x...
func showLiteral(text string) string {
	set, quoted, isQuoted := strings.Cut(text, "'")
	if !isQuoted {
		return text
	}
	quoted = strings.TrimSuffix(quoted, "'")
	charset, isHex := strings.CutSuffix(set, "X")
	if !isHex {
		return strings.NewReplacer(`\\`, `\`, `\'`, `'`).Replace(quoted)
	}
	raw, err := hex.DecodeString(quoted)
	wide := slices.Contains([]string{"", "_ucs2 ", "_utf16 ", "_utf16le ", "_utf32 "}, charset)
	if err != nil || wide || !utf8.Valid(raw) {
		return "0x" + quoted
	}
	return string(raw)
}

// CompareDefinitions compares the columns of all tables of two servers.
func CompareDefinitions(ctx context.Context, source, copyServer *mysql.Server) ([]Mismatch, error) {
	var was, is definitions
	var err error
	if was.tables, err = tablesOf(ctx, mysql.Through(source), nil); err != nil {
		return nil, err
	}
	if is.tables, err = tablesOf(ctx, mysql.Through(copyServer), nil); err != nil {
		return nil, err
	}
	return was.diff(is), nil
}
