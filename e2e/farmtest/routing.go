package farmtest

import (
	"os"
	"path/filepath"
	"strings"
)

// RouteBy puts a routing key into farm.yaml.
func (f *LiveFarm) RouteBy(text string) {
	f.T.Helper()
	path := filepath.Join(f.Dir, "farm.yaml")
	raw, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(raw), "\nhost_types:", "\nrouting: "+text+"\nhost_types:", 1)), 0o644)
	}
	if err != nil {
		f.T.Fatal(err)
	}
}
