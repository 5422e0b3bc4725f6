package report

import (
	"os"
	"testing"
)

// TestLook writes both reports to $STOWAGE_REPORT_DIR for a person to look at.
func TestLook(t *testing.T) {
	dir := os.Getenv("STOWAGE_REPORT_DIR")
	if dir == "" {
		t.Skip("set STOWAGE_REPORT_DIR to a directory to get demo.html and etsy.html there")
	}
	for name, size := range map[string]farmSize{"demo.html": demoSize, "etsy.html": etsySize} {
		f, err := os.Create(dir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := Write(f, inventFacts(t, size)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
