package schema

import (
	"maps"
	"slices"
	"strings"

	"stowage/internal/lazy"
)

var refersTo = lazy.Regexp(`(?i)\bREFERENCES\b`)

// lower are the tables as a server with lower_case_table_names=1 has them: such a server stores the names of tables and databases in lower case, and takes each spelling for the same
// table. Of two that differ in case alone, the one in lower case counts.
func lower(tables map[string]Table) map[string]Table {
	out := map[string]Table{}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		low := strings.ToLower(name)
		if _, exact := tables[low]; exact && low != name {
			continue
		}
		if t, err := Read(lowerNames(tables[name].Text)); err == nil {
			out[low] = t
		}
	}
	return out
}

// lowerNames writes the table that is made, and those that foreign keys refer to, in lower case.
func lowerNames(create string) string {
	starts := refersTo().FindAllStringIndex(mask(create), -1)
	if at := creates().FindStringIndex(create); at != nil {
		starts = append([][]int{at}, starts...)
	}
	var b strings.Builder
	from := 0
	for _, at := range starts {
		_, rest := name(create[at[1]:])
		if strings.HasPrefix(rest, ".") { // `database`.`table`
			_, rest = name(rest[1:])
		}
		end := len(create) - len(rest)
		b.WriteString(create[from:at[1]] + strings.ToLower(create[at[1]:end]))
		from = end
	}
	return b.String() + create[from:]
}
