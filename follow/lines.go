package follow

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stowage/farm"
	"stowage/feed"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// Tenant narrows what is followed to the rows of one tenant.
type Tenant struct {
	Column string `json:"column"`
	Value  string `json:"value"` // as it was given; rows may have it in another spelling
}

// lines makes lines of changes. One line is held back, so that the last of a
// transaction can be called that.
type lines struct {
	sink    Sink
	plain   map[string]*shown
	tenant  *Tenant
	spelled map[spelling]bool // whether it is the tenant
	gtid    string
	seconds uint32
	index   int
	held    []byte // a line without its end, as far as it is written before "last"
	rest    []byte
	key     []byte
	isHeld  bool

	was, is   rows.PlainRow
	old, next []byte
}

// spelling is a tenant as a row of a table has it.
type spelling struct{ table, value string }

// mostSpellings is how many are remembered.
const mostSpellings = 100_000

// shown is a table that is followed.
type shown struct {
	*rows.Plain
	name   []byte // as JSON
	tenant int    // the tenant's column, -1: none is asked for
	value  string // the tenant, as rows have it
}

func newLines(sink Sink, plain []*rows.Plain, tenant *Tenant) (*lines, error) {
	l := &lines{sink: sink, plain: map[string]*shown{}, tenant: tenant, spelled: map[spelling]bool{}}
	var lacking []string
	for _, p := range plain {
		s := &shown{Plain: p, name: rows.AppendJSONString(nil, []byte(p.Table.Name)), tenant: -1}
		if tenant != nil {
			s.tenant = slices.IndexFunc(p.Columns, func(c rows.PlainColumn) bool { return c.Name == tenant.Column })
			if s.tenant < 0 {
				lacking = append(lacking, p.Table.Name)
			}
		}
		l.plain[p.Table.Name] = s
	}
	if len(lacking) > 0 {
		return nil, fmt.Errorf("no column %s in %s", tenant.Column, farm.Some(lacking))
	}
	return l, nil
}

// mean finds out how rows of each table have the tenant: 007 is 7 in an INT. odd says which column cannot have it; "": all can.
func (l *lines) mean(ctx context.Context, plain []*rows.Plain) (odd string, err error) {
	if l.tenant == nil {
		return "", nil
	}
	for _, p := range plain {
		t := l.plain[p.Table.Name]
		value, ok, err := t.Given(ctx, t.tenant, l.tenant.Value)
		if err != nil {
			return "", err
		}
		if t.value = value; !ok {
			return fmt.Sprintf("column %s.%s is %s, which cannot be %q", p.Table.Name, l.tenant.Column, p.Table.Columns[t.tenant].Type, l.tenant.Value), nil
		}
	}
	return "", nil
}

// take makes lines of a piece and hands them to the sink. A change that does
// not fit the definitions is a *misfit.
func (l *lines) take(ctx context.Context, p feed.Piece) error {
	if p.First {
		l.gtid, l.seconds, l.index, l.isHeld = p.Trx.String(), p.Seconds, 0, false
	}
	for _, c := range p.Changes {
		if err := l.change(ctx, c); err != nil {
			return err
		}
	}
	if p.Last {
		return l.release(true)
	}
	return nil
}

// misfit: a change was written when the table had other columns.
type misfit struct{ why string }

func (e *misfit) Error() string { return e.why }

func (l *lines) change(ctx context.Context, c mysql.Change) error {
	t := l.plain[strings.TrimPrefix(c.Table, mysql.AsidePrefix)]
	if t == nil {
		return &misfit{fmt.Sprintf("table %s is new or system-versioned: it is not followed", c.Table)}
	}
	if err := t.Fits(c); err != nil {
		return &misfit{err.Error()}
	}
	for i := 0; i < len(c.Rows); i++ {
		var err error
		switch c.Kind {
		case mysql.Insert:
			if l.is, err = t.Event(ctx, c.Rows[i], l.is); err == nil {
				err = l.line(ctx, t, "insert", nil, l.is)
			}
		case mysql.Delete:
			if l.was, err = t.Event(ctx, c.Rows[i], l.was); err == nil {
				err = l.line(ctx, t, "delete", l.was, nil)
			}
		case mysql.Update:
			if l.was, err = t.Event(ctx, c.Rows[i], l.was); err == nil {
				l.is, err = t.Event(ctx, c.Rows[i+1], l.is)
			}
			i++
			if err == nil {
				err = l.update(ctx, t)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// update is a deletion and an insertion where the row gets another key, and one
// of the two where it comes to the tenant or leaves it.
func (l *lines) update(ctx context.Context, t *shown) error {
	l.old, l.next = t.AppendObject(l.old[:0], l.was, t.Table.Key), t.AppendObject(l.next[:0], l.is, t.Table.Key)
	was, err := l.isTenants(ctx, t, l.was)
	if err != nil {
		return err
	}
	is, err := l.isTenants(ctx, t, l.is)
	if err != nil {
		return err
	}
	if bytes.Equal(l.old, l.next) && was && is {
		return l.line(ctx, t, "update", l.was, l.is)
	}
	if err := l.line(ctx, t, "delete", l.was, nil); err != nil {
		return err
	}
	return l.line(ctx, t, "insert", nil, l.is)
}

// isTenants reports whether a row is the tenant's. Acme may be acme: the column's collation says so, and every query by tenant finds both.
func (l *lines) isTenants(ctx context.Context, t *shown, row rows.PlainRow) (bool, error) {
	if t.tenant < 0 || row[t.tenant] == nil {
		return t.tenant < 0, nil
	}
	if string(row[t.tenant]) == t.value {
		return true, nil
	}
	if !t.HasSpellings(t.tenant) {
		return false, nil
	}
	s := spelling{t.Table.Name, string(row[t.tenant])}
	is, known := l.spelled[s]
	if known {
		return is, nil
	}
	is, err := t.Equal(ctx, t.tenant, s.value, l.tenant.Value)
	if err == nil {
		if len(l.spelled) >= mostSpellings {
			clear(l.spelled)
		}
		l.spelled[s] = is
	}
	return is, err
}

// line writes one line, unless the row is another tenant's, and lets the one before go.
func (l *lines) line(ctx context.Context, t *shown, op string, was, is rows.PlainRow) error {
	row := is
	if row == nil {
		row = was
	}
	if is, err := l.isTenants(ctx, t, row); err != nil || !is {
		return err
	}
	if err := l.release(false); err != nil {
		return err
	}
	l.held = append(l.held[:0], `{"gtid":"`...)
	l.held = append(l.held, l.gtid...)
	l.held = append(l.held, `","index":`...)
	l.held = strconv.AppendInt(l.held, int64(l.index), 10)
	l.index++
	b := append(l.rest[:0], `,"op":"`...)
	b = append(b, op...)
	b = append(b, `","table":`...)
	b = append(b, t.name...)
	b = append(b, `,"key":`...)
	at := len(b)
	if len(t.Table.Key) == 0 {
		b = append(b, "null"...)
	} else {
		b = t.AppendObject(b, row, t.Table.Key)
	}
	l.key = append(append(l.key[:0], `{"table":`...), t.name...)
	l.key = append(append(append(l.key, `,"key":`...), b[at:]...), '}')
	b = l.object(t, append(b, `,"before":`...), was)
	b = l.object(t, append(b, `,"after":`...), is)
	b = append(b, `,"at":`...)
	b = strconv.AppendUint(b, uint64(l.seconds), 10)
	l.rest = append(b, '}')
	l.isHeld = true
	return nil
}

func (l *lines) object(t *shown, b []byte, row rows.PlainRow) []byte {
	if row == nil {
		return append(b, "null"...)
	}
	return t.AppendObject(b, row, nil)
}

// release hands the line that is held to the sink.
func (l *lines) release(isLast bool) error {
	if !l.isHeld {
		return nil
	}
	l.isHeld = false
	l.held = append(l.held, `,"last":`...)
	l.held = strconv.AppendBool(l.held, isLast)
	l.held = append(l.held, l.rest...)
	return l.sink.Put(l.key, l.held)
}

// on has a server convert what only a server can.
func (l *lines) on(s *mysql.Server) {
	for _, t := range l.plain {
		t.On(s)
	}
}
