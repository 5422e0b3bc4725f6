package sources

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"stowage/internal/lasting"
	"stowage/internal/safefile"
	"stowage/inventory/claims"
)

// The last claims of a source are kept as lines: kind, subject, attribute,
// value, unknown, where, line, time; quoted where that is needed. JSON takes
// ten times as long for a large farm.
const keptHead = "stowage claims 1"

// keptPath is where the claims of a source are kept.
func keptPath(state, name string) string {
	return filepath.Join(state, "sources", strings.Map(func(c rune) rune {
		if c == '/' || c < ' ' {
			return '_'
		}
		return c
	}, name)+".claims")
}

// keep writes the claims of a source. What was made of the same file need not
// be written again.
func keep(path string, at time.Time, list []claims.Claim) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\t%d\t%d\n", keptHead, at.UnixNano(), len(list))
	for _, c := range list {
		for _, text := range []string{string(c.Subject.Kind), c.Subject.Name, c.Attribute, c.Value} {
			keptWord(&b, text)
		}
		if c.Unknown {
			b.WriteByte('?')
		}
		b.WriteByte('\t')
		keptWord(&b, c.Place.Where)
		b.WriteString(strconv.Itoa(c.Place.Line))
		b.WriteByte('\t')
		if !c.At.IsZero() {
			b.WriteString(strconv.FormatInt(c.At.UnixNano(), 10))
		}
		b.WriteByte('\n')
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".claims.*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(b.Bytes())
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // the first error says it all
		return err
	}
	return lasting.SyncDir(filepath.Dir(path))
}

func keptWord(b *bytes.Buffer, text string) {
	if strings.ContainsAny(text, "\t\n\r\"\\") {
		text = strconv.Quote(text)
	}
	b.WriteString(text)
	b.WriteByte('\t')
}

// keptAt is the time of the kept claims, zero without any.
func keptAt(path string) (time.Time, int) {
	f, err := safefile.OpenInput(path)
	if err != nil {
		return time.Time{}, 0
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil {
		return time.Time{}, 0
	}
	return keptHeader(strings.TrimSuffix(line, "\n"))
}

func keptHeader(line string) (time.Time, int) {
	parts := strings.Split(line, "\t")
	if len(parts) != 3 || parts[0] != keptHead {
		return time.Time{}, 0
	}
	at, err := strconv.ParseInt(parts[1], 10, 64)
	n, errN := strconv.Atoi(parts[2])
	if err != nil || errN != nil {
		return time.Time{}, 0
	}
	return time.Unix(0, at), n
}

// readKept reads them back. A file that somebody cut is read as far as it goes.
func readKept(path string) (time.Time, []claims.Claim, error) {
	src, err := safefile.ReadInput(path, mostBytes)
	if err != nil {
		return time.Time{}, nil, err
	}
	at, list := parseKept(string(src))
	if at.IsZero() {
		return at, nil, fmt.Errorf("%s holds no claims", path)
	}
	return at, list, nil
}

func parseKept(src string) (time.Time, []claims.Claim) {
	head, rest, _ := strings.Cut(src, "\n")
	at, _ := keptHeader(head)
	if at.IsZero() {
		return at, nil
	}
	var out []claims.Claim
	for line := range strings.Lines(rest) {
		p := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(p) != 8 {
			continue
		}
		for i, text := range p {
			if strings.HasPrefix(text, `"`) {
				if plain, err := strconv.Unquote(text); err == nil {
					p[i] = plain
				}
			}
		}
		c := claims.Claim{Subject: claims.Subject{Kind: claims.Kind(p[0]), Name: p[1]}, Attribute: p[2], Value: p[3], Unknown: p[4] == "?", Place: claims.Place{Where: p[5]}}
		c.Place.Line, _ = strconv.Atoi(p[6])
		if n, err := strconv.ParseInt(p[7], 10, 64); err == nil {
			c.At = time.Unix(0, n)
		}
		out = append(out, c)
	}
	return at, out
}
