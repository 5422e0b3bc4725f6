package digest

import (
	"fmt"
	"strings"
	"testing"
)

// Logs whose times were taken away, or which other programs write, became one statement of two thousand events.
func TestLogsWithOddHeadersAreReadEventByEvent(t *testing.T) {
	for name, header := range map[string]string{
		"empty time":       "# Time:\n# User@Host: app[app] @ host []\n# Query_time: 0.5  Lock_time: 0\n",
		"anonymised time":  "# Time: XXXX-XX-XXTXX:XX:XX\n# User@Host: app[app] @ host []\n# Query_time: 0.5  Lock_time: 0\n",
		"stars for a time": "# Time: ****** **:**:**\n# User@Host: app[app] @ host []\n# Query_time: 0.5  Lock_time: 0\n",
		"User, no Time":    "# User: app@host\n# Query_time: 0.5\n",
	} {
		var log strings.Builder
		for i := range 500 {
			fmt.Fprintf(&log, "%sSELECT %d FROM t;\n", header, i)
		}
		if r := read(t, Options{}, []byte(log.String())); r.Events != 500 || r.ClassCount != 1 || r.QueryTimeSum < 249 {
			t.Errorf("%s: %d events in %d classes, %v s; %+v", name, r.Events, r.ClassCount, r.QueryTimeSum, r.Inputs)
		}
	}
}
