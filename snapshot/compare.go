package snapshot

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/mysql/rows"
	"stowage/snapshot/format"
)

// Comparison is what both queries of one tenant said in one view.
type Comparison struct {
	Rows         int64          `json:"rows"`        // of the normalised query
	Different    int64          `json:"different"`   // rows; with AtLeast, so many or more
	AtLeast      bool           `json:"at_least"`    // more differ than were looked at one by one
	Differences  []Difference   `json:"differences"` // the first ones
	Normalised   time.Duration  `json:"normalised_ns"`
	Denormalised time.Duration  `json:"denormalised_ns"`
	At           mysql.Position `json:"-"`
}

// Difference is one row that the two queries do not say alike.
type Difference struct {
	Key  string `json:"key"` // file_id=7
	What string `json:"what"`
}

func (d Difference) String() string { return d.Key + " " + d.What }

// Most is how many differences are named.
const Most = 20

// buckets is how many sums of rows are kept: two megabytes, however many rows there are.
const buckets = 1 << 16

// Compare asks both queries for what a tenant has in one view of the server, whatever its flags say, and holds the rows of their answers against
// each other by the parent's key, or as a whole where the snapshot's columns lack it. Differences are no error; errors are those of the server, and
// farm.ErrRefused where a definition changed meanwhile.
func Compare(ctx context.Context, server *mysql.Server, shape latest.Shape, shard farm.ShardName, tenant string) (Comparison, error) {
	return compare(ctx, server, queries{shape.Query(shard, shape.Normalised(), false), shape.Query(shard, latest.Denormalised, false), shape.AnswerKey()}, tenant)
}

// queries are the two that must say the same, each with one place for the tenant.
type queries struct {
	normalised, denormalised string
	key                      []string // columns of the answer by which a row is known
}

// compare asks both queries, one after the other in one view, and sums their rows by bucket of the key: the order of the rows does
// not matter, and nothing is kept of them. Each query runs alone, so its time is its own; the second finds in memory what the
// first has read. Rows of buckets that differ are asked for again, in the same view, and compared with each other.
func compare(ctx context.Context, server *mysql.Server, q queries, tenant string) (out Comparison, err error) {
	view, err := rows.Snapshot(ctx, server)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	out.At = view.At
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	var normal, denormal sums
	if out.Normalised, err = normal.add(ctx, view, q.normalised, q.key, tenant, seeds); err != nil {
		return out, err
	}
	if out.Denormalised, err = denormal.add(ctx, view, q.denormalised, q.key, tenant, seeds); err != nil {
		return out, err
	}
	out.Rows = normal.rows
	if !slices.Equal(normal.names, denormal.names) {
		return out, &farm.Error{Op: "compare queries", Subject: string(server.Name()), Err: fmt.Errorf("they return different columns: %s and %s", strings.Join(normal.names, ", "), strings.Join(denormal.names, ", "))}
	}
	wrong, all := differing(&normal, &denormal)
	if len(wrong) == 0 {
		return out, nil
	}
	if err := out.name(ctx, view, q, tenant, seeds[0], wrong); err != nil {
		return out, err
	}
	if out.AtLeast = out.AtLeast || all > len(wrong); all > len(wrong) {
		out.Different = max(out.Different, int64(all))
	}
	return out, nil
}

// sums are the rows of one query: of each bucket the sum of two hashes of its rows. Equal rows add up: a row too many is seen.
type sums struct {
	of    [buckets][2]uint64
	rows  int64
	names []string
}

func (s *sums) add(ctx context.Context, view *rows.View, query string, key []string, tenant string, seeds [2]maphash.Seed) (time.Duration, error) {
	began := time.Now()
	err := each(ctx, view, query, func(a *rows.Answer) func([][]byte) {
		for _, c := range a.Columns {
			s.names = append(s.names, c.Name)
		}
		at := places(a.Columns, key)
		var whole, known []byte
		return func(row [][]byte) {
			whole, known = appendRow(whole[:0], row), appendCells(known[:0], row, at)
			sum := &s.of[maphash.Bytes(seeds[0], known)%buckets]
			sum[0] += maphash.Bytes(seeds[0], whole)
			sum[1] += maphash.Bytes(seeds[1], whole)
			s.rows++
		}
	}, tenant)
	return time.Since(began), err
}

// differing are the buckets that are looked at row by row, and how many differ in all.
func differing(a, b *sums) (first map[uint64]bool, all int) {
	first = map[uint64]bool{}
	for i := range a.of {
		if a.of[i] != b.of[i] {
			if all++; len(first) < Most {
				first[uint64(i)] = true
			}
		}
	}
	return first, all
}

// heldRows is how many rows of buckets that differ are kept for a look at each.
const heldRows = 100_000

// name asks both queries again and holds the rows of some buckets against each other, by key.
func (c *Comparison) name(ctx context.Context, view *rows.View, q queries, tenant string, seed maphash.Seed, wrong map[uint64]bool) error {
	var sides [2]map[string][]string // the rows of a key, each as a line
	var order []string
	shown := map[string]string{}
	for n, query := range []string{q.normalised, q.denormalised} {
		sides[n] = map[string][]string{}
		held := 0
		err := each(ctx, view, query, func(a *rows.Answer) func([][]byte) {
			at, columns := places(a.Columns, q.key), columnsOf(a.Columns)
			var known []byte
			return func(row [][]byte) {
				known = appendCells(known[:0], row, at)
				if !wrong[maphash.Bytes(seed, known)%buckets] {
					return
				}
				if held++; held > heldRows {
					c.AtLeast = true
					return
				}
				id := string(known)
				if _, seen := shown[id]; !seen {
					shown[id] = showCells(columns, row, at)
					order = append(order, id)
				}
				sides[n][id] = append(sides[n][id], showCells(columns, row, nil))
			}
		}, tenant)
		if err != nil {
			return err
		}
	}
	for _, id := range order {
		normal, denormal := sides[0][id], sides[1][id]
		slices.Sort(normal)
		slices.Sort(denormal)
		if slices.Equal(normal, denormal) {
			continue
		}
		if c.Different++; len(c.Differences) < Most {
			c.Differences = append(c.Differences, Difference{shown[id], explain(normal, denormal)})
		}
	}
	return nil
}

func explain(normal, denormal []string) string {
	switch {
	case len(denormal) == 0:
		return "is missing in the denormalised answer; normalised: " + normal[0]
	case len(normal) == 0:
		return "should not be in the denormalised answer: " + denormal[0]
	case len(normal) != len(denormal):
		return fmt.Sprintf("appears %d times in the normalised answer, %d times in the denormalised one", len(normal), len(denormal))
	}
	return "differs; normalised: " + normal[0] + "; denormalised: " + denormal[0]
}

// each hands the rows of a query to what begin makes when its columns are known.
func each(ctx context.Context, view *rows.View, query string, begin func(*rows.Answer) func([][]byte), args ...any) error {
	answer, err := view.Answer(ctx, query, args...)
	if err != nil {
		return stale(err)
	}
	take := begin(answer)
	for row := answer.Next(); row != nil; row = answer.Next() {
		take(row)
	}
	return stale(answer.Close())
}

// stale says what to do when a table was changed under a view.
func stale(err error) error {
	if !rows.IsStaleView(err) {
		return err
	}
	return &farm.Error{Op: "read snapshot", Err: fmt.Errorf("%w: the definition of a table was changed after the snapshot was opened: %w", farm.ErrRefused, err),
		Hint: "run it again when the ALTER TABLE has ended"}
}

// places are the columns of the key in an answer; all columns where one of them is not in it.
func places(columns []rows.AnswerColumn, key []string) []int {
	var at []int
	for _, name := range key {
		i := slices.IndexFunc(columns, func(c rows.AnswerColumn) bool { return c.Name == name })
		if i < 0 {
			at = nil
			break
		}
		at = append(at, i)
	}
	if at == nil {
		for i := range columns {
			at = append(at, i)
		}
	}
	return at
}

func appendCells(dst []byte, row [][]byte, at []int) []byte {
	for _, i := range at {
		dst = appendCell(dst, row[i])
	}
	return dst
}

func appendRow(dst []byte, row [][]byte) []byte {
	for _, v := range row {
		dst = appendCell(dst, v)
	}
	return dst
}

// appendCell appends a value so that no other row comes to the same bytes: its length, one more than it is, 0 for NULL.
func appendCell(dst, v []byte) []byte {
	if v == nil {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(v))+1)
	return append(dst, v...)
}

// showCells is some values of a row for people, or all: file_id=7, size=NULL.
func showCells(columns []format.Column, row [][]byte, at []int) string {
	var parts []string
	for i, c := range columns {
		if at != nil && !slices.Contains(at, i) {
			continue
		}
		value := string(format.AppendJSON(nil, c, row[i]))
		if len(value) > shownBytes {
			value = value[:shownBytes] + "..."
		}
		parts = append(parts, c.Name+"="+value)
	}
	return strings.Join(parts, " ")
}

// shownBytes is how much of a value is shown.
const shownBytes = 80

func columnsOf(columns []rows.AnswerColumn) []format.Column {
	out := make([]format.Column, len(columns))
	for i, c := range columns {
		out[i] = format.Column{Name: c.Name, Kind: c.Kind, Unsigned: c.Unsigned, Digits: c.Digits, Scale: c.Scale}
	}
	return out
}
