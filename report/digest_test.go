package report

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"stowage/digest"
	"stowage/internal/turns"
)

// digested is a log of two classes; the second has a value that nobody else must see.
func digested(t *testing.T, slower float64) *digest.Digest {
	t.Helper()
	var log strings.Builder
	for s := range 300 {
		for i, q := range []string{"SELECT * FROM users WHERE mail = 'anna@example.com'", "UPDATE orders SET note = '<b>secret</b>' WHERE id = 0xDEADBEEF"} {
			fmt.Fprintf(&log, "# User@Host: anna[anna] @ laptop []\n# Query_time: %.6f  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 9\nSET timestamp=%d;\n%s;\n", 0.01*float64(i+1)*slower, 1795000000+s, q)
		}
	}
	b := digest.New(digest.Options{})
	if err := b.Read("laptop.log", strings.NewReader(log.String())); err != nil {
		t.Fatal(err)
	}
	return b.Digest()
}

func pageOf(t *testing.T, d *DigestDocument) string {
	t.Helper()
	var b strings.Builder
	if err := d.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The page of a digest has each class in the ranking, linked to its details, and its statements as text, not as markup.
func TestDigestPage(t *testing.T) {
	turns.One(t, 8)
	d := digested(t, 1)
	page := pageOf(t, NewDigestDocument(d.Report(), d.Trend(digest.TrendOptions{})))
	links := regexp.MustCompile(`href="#(c-[0-9A-F]{16})"`).FindAllStringSubmatch(page, -1)
	if len(links) < 4 {
		t.Errorf("%d links to classes", len(links))
	}
	for _, l := range links {
		if strings.Count(page, `id="`+l[1]+`"`) != 1 {
			t.Errorf("%s leads nowhere, or to two places", l[1])
		}
	}
	if !strings.Contains(page, "anna@example.com") || strings.Contains(page, "<b>secret") || !strings.Contains(page, "&lt;b&gt;secret") || strings.Count(page, "<svg class=\"loads\"") != 3 {
		t.Error("a sample is missing, is markup, or a picture of load is missing")
	}
	path := filepath.Join(t.TempDir(), "digest.html")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, console := browse(t, path); console != "" {
		t.Errorf("the console says:\n%s", console)
	}
}

// Nothing of an anonymous page tells who somebody is, or what was asked for.
func TestAnonymousDigestPage(t *testing.T) {
	d := digested(t, 1)
	l := d.Listing()
	l.Anonymize()
	c := digest.Compare(d, digested(t, 2), digest.CompareOptions{})
	c.Anonymize()
	for name, page := range map[string]string{
		"digest": pageOf(t, NewDigestDocument(l.Report(), d.Trend(digest.TrendOptions{}))), "comparison": pageOf(t, NewComparisonDocument(&c)),
	} {
		page = strings.ToLower(page)
		for _, secret := range []string{"anna", "laptop", "secret", "deadbeef"} {
			if strings.Contains(page, secret) {
				t.Errorf("%s: it says %s", name, secret)
			}
		}
		if !strings.Contains(page, "orders") {
			t.Errorf("%s: nobody can tell what it is about", name)
		}
	}
}

// The page of a comparison names what got slower, and is bad news then.
func TestComparisonPage(t *testing.T) {
	before, after := digested(t, 1), digested(t, 3)
	c := digest.Compare(before, after, digest.CompareOptions{})
	d := NewComparisonDocument(&c)
	if page := pageOf(t, d); !d.IsBad || !strings.Contains(page, "slower") || strings.Count(page, `id="c-`) != 2 {
		t.Errorf("bad %v, %d classes", d.IsBad, strings.Count(page, `id="c-`))
	}
}
