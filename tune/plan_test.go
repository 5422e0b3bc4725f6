package tune_test

import (
	"fmt"
	"strings"
	"testing"

	"stowage/tune"
)

func instance(name string, variables string) tune.Instance {
	i := tune.Instance{Name: name, Variables: map[string]string{}}
	for _, v := range strings.Fields(variables) {
		key, value, _ := strings.Cut(v, "=")
		i.Variables[key] = value
	}
	return i
}

// TestAuditPlan: what a plan brings together on one host.
func TestAuditPlan(t *testing.T) {
	many := make([]tune.Instance, 25)
	for n := range many {
		many[n] = instance(fmt.Sprintf("i%d", n), "innodb_use_native_aio=ON innodb_read_io_threads=4 innodb_write_io_threads=4 innodb_page_size=16384 innodb_buffer_pool_size=1G")
	}
	tests := []struct {
		name      string
		instances []tune.Instance
		want      string
	}{
		{"fits", []tune.Instance{instance("a", "innodb_buffer_pool_size=20G innodb_page_size=16384 innodb_use_native_aio=ON")}, "followed MEM-SUM DB-PAGE DB-AIO"},
		{"too much", []tune.Instance{instance("a", "innodb_buffer_pool_size=30G"), instance("b", "innodb_buffer_pool_size=30G"), {Name: "silent"}},
			"blocker ssd01: the plan promises 103 % of its memory (2 of 3 instances want 66 GiB of 64 GiB)"},
		{"page sizes", []tune.Instance{instance("a", "innodb_page_size=16384"), instance("b", "innodb_page_size=4096")}, "warning ssd01: these instances cannot be merged by their files"},
		{"aio", many, "warning ssd01: the last instances may not start there (25 instances may ask for 51200"},
		{"aio off", []tune.Instance{instance("a", "innodb_use_native_aio=OFF")}, "followed DB-AIO"},
		{"nobody answers", []tune.Instance{{Name: "a"}}, "followed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := tune.AuditPlan("first", []tune.Planned{{Host: "ssd01", Memory: 64 << 30, Instances: tt.instances}})
			said := strings.TrimSpace("followed " + strings.Join(r.Followed, " "))
			for _, f := range r.Findings {
				said = fmt.Sprintf("%s %s: %s (%s) -> %s", f.Severity, f.Subject, f.Verdict, f.Read, f.Fix)
			}
			if !strings.HasPrefix(said, tt.want) {
				t.Errorf("%s, want %s", said, tt.want)
			}
			if n := len(r.Followed) + len(r.NotApplicable); len(r.Findings) == 0 && n != 3 {
				t.Errorf("%d rules have an answer, of 3", n)
			}
		})
	}
}
