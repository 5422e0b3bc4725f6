package rows

import (
	"fmt"

	"stowage/farm"
	"stowage/mysql"
)

// Fits reports rows that cannot be applied to the table as they are.
func (t *CopyTable) Fits(c mysql.Change) error {
	if c.OldTimes {
		return fmt.Errorf("table %s.%s has times of the format before MariaDB 10.1", c.Schema, c.Table)
	}
	for i, row := range c.Rows {
		if !t.isWhole(row) {
			return fmt.Errorf("an event of %s.%s has %s, the table has %d", c.Schema, c.Table, farm.Counted(len(row), "column"), len(t.Columns))
		}
		if i >= len(c.Skipped) {
			continue
		}
		for _, missing := range c.Skipped[i] {
			if missing < len(t.Columns) && !t.Columns[missing].Generated {
				return fmt.Errorf("an event of %s.%s lacks column %s: a client writes with a binlog_row_image other than FULL", c.Schema, c.Table, t.Columns[missing].Name)
			}
		}
	}
	return nil
}

// Fits reports an event that was written when the table had other columns.
// Without binlog_row_metadata=FULL it has no names, and only a column of
// another type is noticed.
func (p *Plain) Fits(c mysql.Change) error {
	if err := p.Table.Fits(c); err != nil {
		return err
	}
	for i := range p.Columns {
		col := &p.Columns[i]
		name, is, fits := c.Column(i, col.column.Kind)
		if c.IsNamed() && name != col.Name {
			return fmt.Errorf("column %d of %s is called %s in an event, and %s in the table", i+1, p.Table, name, col.Name)
		}
		if !fits {
			return fmt.Errorf("column %s of %s is %s, an event has it with type number %d", col.Name, p.Table, col.column.Type, is)
		}
	}
	for i, missing := range c.Skipped {
		if len(missing) > 0 && missing[0] < len(p.Columns) && i < len(c.Rows) {
			return fmt.Errorf("an event of %s lacks column %s", p.Table, p.Columns[missing[0]].Name)
		}
	}
	return nil
}
