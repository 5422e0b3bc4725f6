package workspace

import (
	"strings"
	"testing"
	"time"

	"stowage/farm"
)

const dueFarm = "farm: f\nnext_server_id: 1\ndue: {%}\nhost_types: {}\nhosts: []\npairs: []\n"

func TestDueIsReadAndWritten(t *testing.T) {
	for _, d := range []farm.Due{
		{Sizes: 24 * time.Hour, Sources: -1, Load: 90 * time.Minute, Window: 10 * time.Second, KeepHours: 7 * 24 * time.Hour, KeepDays: 365 * 24 * time.Hour},
		{Load: time.Hour, Hosts: 2 * time.Hour}, {Hosts: -1}, {Window: 90 * time.Second}, {Sizes: 36 * time.Hour}, {Load: 10 * time.Minute, Window: 30 * time.Second},
	} {
		f := &farm.Farm{Name: "f", NextServerID: 1, Due: d}
		text := renderFarm(f, nil)
		got, _, err := parseFarm("farm.yaml", text)
		if err != nil || got.Due != d {
			t.Errorf("%+v became %v, %v:\n%s", d, got, err, text)
		}
	}
}

func TestDueIsRefusedByLine(t *testing.T) {
	for text, want := range map[string]string{
		"size: 1d":                 `farm.yaml:3: unknown key "size" in due; did you mean "sizes"?`,
		"sizes: 5":                 `farm.yaml:3: sizes of due must be a time with its unit, from 1m to 366d, not "5"`,
		"sources: never":           `farm.yaml:3: sources of due must be`,
		"load: 1m, window: 50s":    `farm.yaml:3: window of due is 50s, more than half of the 1m0s from one to the next`,
		"hosts: 1m, window: 50s":   `farm.yaml:3: window of due is 50s, more than half of the 1m0s from one to the next`,
		"window: 1ms":              `farm.yaml:3: window of due must be a time with its unit, from 2s to 1h, not "1ms"`,
		"keep_hours: 99999999999d": `keep_hours of due must be`,
	} {
		_, _, err := parseFarm("farm.yaml", []byte(strings.Replace(dueFarm, "%", text, 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
