package digest

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

// oddLog is one log of testdata/odd-logs.txt, with what is to be found in it.
type oddLog struct {
	name  string
	truth map[string]string
	text  []byte
}

var oddBytes = regexp.MustCompile(`\{(NUL|CR|FF|BOM|END|x|1,|[0-9A-F]{2})(?:\*(\d+))?\}`)

func oddLogs(t *testing.T) (out []oddLog) {
	t.Helper()
	raw, err := os.ReadFile("testdata/odd-logs.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split("\n"+string(raw), "\n=== ")[1:] {
		head, body, _ := strings.Cut(part, "\n")
		name, truths, _ := strings.Cut(head, " | ")
		l := oddLog{name: name, truth: map[string]string{}}
		for _, x := range strings.Fields(truths) {
			key, value, _ := strings.Cut(x, "=")
			l.truth[key] = value
		}
		body = oddBytes.ReplaceAllStringFunc(body+"\n", func(s string) string {
			m := oddBytes.FindStringSubmatch(s)
			n, _ := strconv.Atoi(m[2])
			text := map[string]string{"NUL": "\x00", "CR": "\r", "FF": "\f", "BOM": "\xef\xbb\xbf", "END": "\x04", "x": "x", "1,": "1,"}[m[1]]
			if text == "" || m[1] == "FF" && strings.Contains(l.name, "blob") {
				b, _ := strconv.ParseUint(m[1], 16, 8)
				text = string([]byte{byte(b)})
			}
			return strings.Repeat(text, max(n, 1))
		})
		l.text = []byte(strings.Replace(body, "\x04\n", "", 1))
		out = append(out, l)
	}
	return out
}

// Every odd log is read as what it is, in one piece, in parts, byte by byte, and with Windows' line ends.
func TestOddLogs(t *testing.T) {
	all := oddLogs(t)
	if len(all) < 66 {
		t.Fatalf("%d logs", len(all))
	}
	for _, l := range all {
		t.Run(strings.ReplaceAll(l.name, " ", "_"), func(t *testing.T) {
			check := func(how string, r Report) {
				var found []string
				for _, c := range r.Classes {
					for _, u := range c.Users {
						found = append(found, u.Name)
					}
				}
				skipped, zeros, cut := 0, 0, 0
				for _, s := range r.Inputs[0].Skipped {
					if skipped += int(s.Count); s.Reason == reasonZeros {
						zeros = int(s.Bytes)
					}
				}
				for _, n := range r.Inputs[0].Notes {
					if n.Reason == "statement cut off by zero bytes" {
						cut = int(n.Count)
					}
				}
				got := map[string]string{"events": fmt.Sprint(r.Events), "classes": fmt.Sprint(r.ClassCount), "max": fmt.Sprint(r.QueryTime.Max), "skipped": fmt.Sprint(skipped), "zeros": fmt.Sprint(zeros), "cut": fmt.Sprint(cut), "users": fmt.Sprint(len(found))}
				for key, want := range l.truth {
					if key == "absent" {
						if strings.Contains(strings.Join(found, " "), want) {
							t.Errorf("%s: user %s", how, want)
						}
					} else if got[key] != want {
						t.Errorf("%s: %s is %s, want %s; %+v", how, key, got[key], want, r.Inputs)
					}
				}
			}
			check("whole", read(t, Options{}, l.text))
			check("in parts", read(t, Options{Workers: 2}, l.text))
			if len(l.text) < 20_000 {
				b := New(Options{})
				if err := b.Read("log", iotest.OneByteReader(bytes.NewReader(l.text))); err != nil {
					t.Fatal(err)
				}
				check("byte by byte", b.Digest().Report())
			}
			if !bytes.Contains(l.text, []byte("\r")) {
				check("on Windows", read(t, Options{}, bytes.ReplaceAll(l.text, []byte("\n"), []byte("\r\n"))))
			}
		})
	}
}
