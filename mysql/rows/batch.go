package rows

import (
	"fmt"
	"strings"

	"stowage/farm"
)

// Batch collects changes of one or more transactions, table by table: within
// a table their order is kept, and between tables it does not matter, for no
// constraint is checked and no trigger is there yet.
type Batch struct {
	tables []*batchOf
	index  map[string]int
	Rows   int
	Bytes  int
}

type batchOf struct {
	table   *CopyTable
	rows    *rowsOf // REPLACEs not yet flushed
	deletes []string
	out     [][]byte
}

func (b *Batch) of(t *CopyTable) *batchOf {
	if b.index == nil {
		b.index = map[string]int{}
	}
	at, ok := b.index[t.Name]
	if !ok {
		at = len(b.tables)
		b.index[t.Name] = at
		b.tables = append(b.tables, &batchOf{table: t})
	}
	return b.tables[at]
}

// Put adds a row as the event has it.
func (b *Batch) Put(t *CopyTable, row []any) error {
	o := b.of(t)
	if !t.isWhole(row) {
		return fmt.Errorf("table %s has %s, an event has %d", t.Name, farm.Counted(len(t.Columns), "column"), len(row))
	}
	o.flushDeletes()
	if o.rows == nil {
		o.rows = newRows(t)
	}
	before := len(o.rows.buf)
	o.rows.begin()
	for _, c := range t.written {
		var err error
		if o.rows.buf, err = t.Columns[c].appendEvent(o.rows.buf, row[c]); err != nil {
			return err
		}
		o.rows.buf = append(o.rows.buf, ',')
	}
	grown := len(o.rows.buf) - before
	o.rows.end()
	b.Rows++
	b.Bytes += grown
	return nil
}

// Delete adds the end of a row.
func (b *Batch) Delete(t *CopyTable, row []any) error {
	o := b.of(t)
	if !t.isWhole(row) {
		return fmt.Errorf("table %s has %s, an event has %d", t.Name, farm.Counted(len(t.Columns), "column"), len(row))
	}
	o.flushRows()
	key, err := t.keyOf(row)
	if err != nil {
		return err
	}
	term := t.same(key)
	o.deletes = append(o.deletes, term)
	if len(o.deletes) >= 200 {
		o.flushDeletes()
	}
	b.Rows++
	b.Bytes += len(term)
	return nil
}

// Change adds an update: the whole new row, and the end of the old one where the key is another.
func (b *Batch) Change(t *CopyTable, was, is []any) error {
	if !t.isWhole(was) || !t.isWhole(is) {
		return fmt.Errorf("table %s has %s, an event has %d", t.Name, farm.Counted(len(t.Columns), "column"), len(is))
	}
	old, err := t.keyOf(was)
	if err != nil {
		return err
	}
	now, err := t.keyOf(is)
	if err != nil {
		return err
	}
	if strings.Join(old, ",") != strings.Join(now, ",") {
		if err := b.Delete(t, was); err != nil {
			return err
		}
	}
	return b.Put(t, is)
}

func (t *CopyTable) keyOf(row []any) ([]string, error) {
	key := make([]string, len(t.Key))
	for i, k := range t.Key {
		var err error
		if key[i], err = t.Columns[k].keyEvent(row[k]); err != nil {
			return nil, err
		}
	}
	return key, nil
}

func (o *batchOf) flushRows() {
	if o.rows != nil {
		o.out = append(o.out, o.rows.done()...)
		o.rows = nil
	}
}

func (o *batchOf) flushDeletes() {
	if len(o.deletes) > 0 {
		o.out = append(o.out, []byte("DELETE FROM "+o.table.At()+" WHERE "+strings.Join(o.deletes, " OR ")))
		o.deletes = nil
	}
}

// Statements are what carries the batch out.
func (b *Batch) Statements() [][]byte {
	var out [][]byte
	for _, o := range b.tables {
		o.flushRows()
		o.flushDeletes()
		out = append(out, o.out...)
	}
	return out
}

// delete is a statement that removes the rows with these keys.
func (t *CopyTable) delete(keys [][]string) []byte {
	return []byte("DELETE FROM " + t.At() + " WHERE " + t.anyOf(keys))
}
