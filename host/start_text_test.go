package host

import (
	"strings"
	"testing"

	"stowage/internal/optionfile"
)

// TestTextOfSeveralGroupsIsOne: who changes an option in one group must not find another value of it in a later one.
func TestTextOfSeveralGroupsIsOne(t *testing.T) {
	own := "[mysqld]\nport = 1\n[mariadb]\nserver_id = 7\n[mariadbd]\nserver_id = 8\n"
	i := Instance{Name: "a", Config: "/etc/a.cnf"}
	s := Start{Files: []string{i.Config}, Options: []optionfile.Line{{File: i.Config, Group: "mysqld", Key: "port", Value: "1", IsValued: true},
		{File: i.Config, Group: "mariadb", Key: "server_id", Value: "7", IsValued: true}, {File: i.Config, Group: "mariadbd", Key: "server_id", Value: "8", IsValued: true}}}
	for _, text := range []string{s.Text(i, own), OneGroup(own, i.Name, optionfile.ServerGroups("10.11", true, ""))} {
		if id, _ := Option(text, "mysqld", "server_id"); id != "8" || strings.Count(text, "\n[") != 1 {
			t.Errorf("server_id is %q in\n%s", id, text)
		}
	}
	if text := OneGroup(own, i.Name, []string{"mysqld"}); text != own {
		t.Errorf("a text of which one group is read has changed:\n%s", text)
	}
}
