package alter

import (
	"context"
	"fmt"
	"slices"

	"stowage/alter/plan"
	"stowage/farm"
	"stowage/mysql"
	"stowage/schema"
)

// state is what a server has of a table that is to be changed.
type state int

const (
	isBefore state = iota
	isAfter
	isOther
	isHalf // on the way back: as before, but for keys and constraints that wait for the values of columns
	isBare // as before or after, but for keys that are built again
)

// look reads how a server defines the tables of the pair now. A way back may leave keys in another order: it does not count.
func (w *work) look(ctx context.Context, s *mysql.Server) (func(plan.Table) (state, string), error) {
	all, err := s.CreatedTables(ctx, w.shards())
	if err != nil {
		return nil, err
	}
	return func(t plan.Table) (state, string) {
		form := w.plan.Forms[t.Form]
		text := all[string(t.Shard)][form.Change.Table]
		switch {
		case differs(text, form.After) == "":
			return isAfter, text
		case differs(text, form.Before) == "":
			return isBefore, text
		case isHalfBack(text, form):
			return isHalf, text
		case isBareOf(text, form):
			return isBare, text
		}
		return isOther, text
	}, nil
}

// inTwo is the way back of a form by which columns come back, parted where keys and constraints have to wait for their values.
func inTwo(f plan.Form) (first, then string, waits []schema.Difference) {
	if f.Undo != "" {
		return f.Back(), "", nil
	}
	return schema.InTwo(f.Back())
}

func isBareOf(text string, f plan.Form) bool {
	apart, is := f.Apart()
	if !is {
		return false
	}
	now, err := schema.Read(text)
	if err != nil {
		return false
	}
	return slices.ContainsFunc([]string{f.Before, f.After}, func(definition string) bool {
		should, err := schema.Read(definition)
		return err == nil && schema.LacksOnly(now, should, apart.Keys)
	})
}

func isHalfBack(text string, f plan.Form) bool {
	_, _, waits := inTwo(f)
	if len(waits) == 0 {
		return false
	}
	is, err := schema.Read(text)
	if err != nil {
		return false
	}
	should, err := schema.Read(f.Before)
	return err == nil && schema.LacksOnly(is, should, waits)
}

// differs says where a definition is not what it should be; "": nowhere.
func differs(text, should string) string {
	is, err := schema.Read(text)
	if err != nil {
		return err.Error()
	}
	want, err := schema.Read(should)
	if err != nil {
		return err.Error()
	}
	if is.Text == want.Text {
		return ""
	}
	for _, d := range schema.Diff(is, want) {
		return d.String()
	}
	return ""
}

// areMade: tables that were brought from a state have become what the plan says. A server whose settings have changed since makes another table of the same statement.
func (w *work) areMade(ctx context.Context, s *mysql.Server, from state) error {
	now, err := w.look(ctx, s)
	if err != nil {
		return err
	}
	for _, t := range w.pair.Tables {
		form := w.plan.Forms[t.Form]
		should := form.After
		if from != isBefore {
			should = form.Before
		}
		is, text := now(t)
		if is == isHalf && from == isAfter {
			continue
		}
		if where := differs(text, should); where != "" {
			return &farm.Error{Op: "alter", Subject: subjectOf(s, t.Shard, form.Change.Table), Err: fmt.Errorf("%w: the server made another table than the plan says: %s", farm.ErrRefused, where),
				Hint: "a setting such as sql_mode has changed; make the table as planned (stowage alter show --json), then: stowage resume"}
		}
	}
	return nil
}
