package mysql

import "testing"

// TestOptionThatMeansTheSameDiffers: option files and SHOW VARIABLES have many
// words for one value.
func TestOptionThatMeansTheSameDiffers(t *testing.T) {
	for _, test := range []struct {
		x       Variable
		is, now string
		same    bool
	}{
		{Variable{Type: "BOOLEAN"}, "1", "ON", true},
		{Variable{Type: "BOOLEAN"}, "false", "OFF", true},
		{Variable{Type: "BOOLEAN"}, "0", "ON", false},
		{Variable{Type: "BIGINT UNSIGNED"}, "16K", "16384", true},
		{Variable{Type: "BIGINT UNSIGNED"}, "1g", "1073741824", true},
		{Variable{Type: "INT UNSIGNED"}, "7", "70", false},
		{Variable{Type: "ENUM", Words: []string{"MIXED", "STATEMENT", "ROW"}}, "row", "ROW", true},
		{Variable{Type: "ENUM", Words: []string{"MIXED", "STATEMENT", "ROW"}}, "2", "ROW", true},
		{Variable{Type: "ENUM", Words: []string{"OFF", "ON"}}, "TRUE", "ON", true},
		{Variable{Type: "SET"}, "no_zero_date, strict_trans_tables", "STRICT_TRANS_TABLES,NO_ZERO_DATE", true},
		{Variable{Type: "SET"}, "traditional", "STRICT_TRANS_TABLES,NO_ZERO_DATE,TRADITIONAL", true},
		{Variable{Type: "SET"}, "", "STRICT_TRANS_TABLES", false},
		{Variable{Type: "VARCHAR"}, "UTF8MB4", "utf8mb4", true},
	} {
		if got := test.x.IsSame(test.is, test.now); got != test.same {
			t.Errorf("%s: %q and %q are the same: %v", test.x.Type, test.is, test.now, got)
		}
	}
}
