package digest

import (
	"bytes"
	"encoding/json"
	"testing"
)

// A listing writes what the whole report would, byte by byte, in every form and order, however much of it is shown.
func TestListingEqualsReport(t *testing.T) {
	log, _ := shardLogs(t, 3000, 3)
	for name, d := range map[string]*Digest{"classes": digestOf(t, append(log, "garbage at the end <&>\n"...)), "none": New(Options{}).Digest()} {
		for _, order := range append(OrderNames(), "") {
			for _, top := range []int{0, 1, 3, 1000} {
				r, l := d.Report(), d.Listing()
				if order != "" {
					if err := r.OrderBy(order); err != nil {
						t.Fatal(err)
					}
					if err := l.OrderBy(order); err != nil {
						t.Fatal(err)
					}
				}
				var asText, text bytes.Buffer
				check(t, WriteText(&asText, r, TextOptions{Top: top}), l.WriteText(&text, TextOptions{Top: top}))
				if asText.String() != text.String() {
					t.Fatalf("%s by %q, %d shown, as text\n%s\nwant\n%s", name, order, top, text.String(), asText.String())
				}
				r.Top(top)
				l.Top(top)
				var asJSON, line, asCSV, rows bytes.Buffer
				e := json.NewEncoder(&asJSON)
				e.SetIndent("", " ")
				check(t, e.Encode(r), l.WriteJSON(&line), WriteCSV(&asCSV, r), l.WriteCSV(&rows))
				if asJSON.String() != line.String() {
					t.Fatalf("%s by %q, %d shown, as JSON\n%s\nwant\n%s", name, order, top, line.String(), asJSON.String())
				}
				if asCSV.String() != rows.String() {
					t.Fatalf("%s by %q, %d shown, as CSV\n%s\nwant\n%s", name, order, top, rows.String(), asCSV.String())
				}
			}
		}
	}
	if err := New(Options{}).Digest().Listing().OrderBy("nothing"); err == nil {
		t.Error("an order that is none is accepted")
	}
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}
