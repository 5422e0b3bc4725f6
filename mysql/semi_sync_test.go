package mysql

import (
	"slices"
	"testing"
)

// A MySQL server is asked in both words for what it has renamed: with the old plugin of semi-synchronous replication it has the old ones.
func TestSemiSyncIsAskedInBothWords(t *testing.T) {
	mysql, maria := dialectOf(parseFlavor("8.0.36")), dialectOf(parseFlavor("10.11.19-MariaDB"))
	asked := mysql.called(SemiSync)
	for _, word := range []string{"rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled"} {
		if !slices.Contains(asked[word], "rpl_semi_sync_master_enabled") {
			t.Errorf("the answer to %s is for %q", word, asked[word])
		}
	}
	if asked := maria.called([]string{"rpl_semi_sync_master_enabled", "log_slave_updates"}); len(asked) != 2 {
		t.Errorf("MariaDB is asked %v", asked)
	}
	if got := mysql.variable("Rpl_semi_sync_master_clients"); got != "Rpl_semi_sync_source_clients" {
		t.Errorf("the counter of the new plugin: %s", got)
	}
}

func TestOwnWordIsThatOfThePlugin(t *testing.T) {
	oldPlugin := map[string]string{"rpl_semi_sync_master_enabled": "ON"}
	newPlugin := map[string]string{"rpl_semi_sync_master_enabled": "ON", "rpl_semi_sync_source_enabled": "ON"}
	for want, is := range map[string]map[string]string{"rpl_semi_sync_master_enabled": oldPlugin, "rpl_semi_sync_source_enabled": newPlugin} {
		if got := OwnWord(is, "rpl_semi_sync_master_enabled"); got != want {
			t.Errorf("%v: %s, want %s", is, got, want)
		}
	}
}
