package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/internal/optionfile"
)

// TestPersistedOptionsOfBothFormats: what SET PERSIST has written, as MySQL 8.0.16
// and 9.7 do, and files that nobody can read as that.
func TestPersistedOptionsOfBothFormats(t *testing.T) {
	i := Instance{Datadir: t.TempDir()}
	mysql := process{series: series{"9.7", false}, datadir: i.Datadir}
	read := func(text string, others ...optionfile.Line) (string, error) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(i.Datadir, persistedFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := mysql.persisted(i, others)
		var all []string
		for _, o := range got {
			all = append(all, o.Key+"="+o.Value)
		}
		return strings.Join(all, " "), err
	}
	const old = `{ "Version" : 1 , "mysql_server" : { "max_connections" : { "Value" : "152" , "Metadata" : { "Timestamp" : 1519921356547226 , "User" : "root" , "Host" : "localhost" } } , "mysql_server_static_options" : { "gtid_mode" : { "Value" : "ON" , "Metadata" : { "Timestamp" : 1 , "User" : "root" , "Host" : "" } } } } }`
	const now = `{"Version": 2, "mysql_dynamic_parse_early_variables": {"max_connections": {"Value": "152", "Metadata": {"Host": "", "User": "root", "Timestamp": 1}}}, "mysql_static_variables": {"gtid_mode": {"Value": "ON", "Metadata": {"Host": "", "User": "root", "Timestamp": 1}}}}`
	for _, text := range []string{old, now} {
		if got, err := read(text); err != nil || got != "gtid_mode=ON max_connections=152" {
			t.Errorf("%q, %v of\n%s", got, err, text)
		}
	}
	if got, err := read(now, optionfile.Line{Key: "persisted_globals_load", Value: "off", IsValued: true}); err != nil || got != "" {
		t.Errorf("a server that does not load it: %q, %v", got, err)
	}
	if _, err := read("{garbage"); err == nil || !strings.Contains(err.Error(), persistedFile) {
		t.Errorf("garbage: %v", err)
	}
	if err := os.Remove(filepath.Join(i.Datadir, persistedFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if got, err := mysql.persisted(i, nil); err != nil || len(got) > 0 {
		t.Errorf("none: %v, %v", got, err)
	}
}
