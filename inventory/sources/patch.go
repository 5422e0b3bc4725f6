package sources

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"stowage/internal/safefile"
	"stowage/inventory/claims"
)

// Patch is what culprits would have to change, as a unified diff without
// context (patch -p0, git apply -p0 --unidiff-zero). Nothing is changed here.
// Only lines are in it in which the wrong value stands once, where somebody
// who is right has written the value in the same form. left says how many
// claims of culprits are not in it.
func Patch(dir string, r claims.Report) (diff string, left int) {
	byFile := map[string]map[int][2]string{}
	texts := map[string][]string{}
	for _, c := range r.Conflicts {
		for _, s := range c.Claims {
			if c.Value == "" || !slices.Contains(c.Culprits, s.Source) || s.Source == "farm" {
				continue
			}
			file, line, ok := filePlace(s.Place)
			right, spelled := sameForm(c, s.Value)
			if !ok || !spelled || !patchLine(dir, file, line, s.Value, right, texts, byFile) {
				left++
			}
		}
	}
	var b strings.Builder
	for _, file := range sortedKeys(byFile) {
		fmt.Fprintf(&b, "--- %s\n+++ %s\n", file, file)
		numbers := []int{}
		for n := range byFile[file] {
			numbers = append(numbers, n)
		}
		slices.Sort(numbers)
		for _, n := range numbers {
			fmt.Fprintf(&b, "@@ -%d +%d @@\n-%s\n+%s\n", n, n, byFile[file][n][0], byFile[file][n][1])
		}
	}
	return b.String(), left
}

// filePlace takes file:12 apart. Places of servers and queries have blanks.
func filePlace(place string) (file string, line int, ok bool) {
	i := strings.LastIndexByte(place, ':')
	if i < 0 || strings.Contains(place, " ") {
		return "", 0, false
	}
	line, err := strconv.Atoi(place[i+1:])
	return place[:i], line, err == nil && line > 0
}

// sameForm is the value that holds as somebody writes it who writes as the
// culprit does: with a port or without, as an address or as a name.
func sameForm(c claims.Conflict, wrong string) (string, bool) {
	form := func(text string) [2]bool {
		return [2]bool{strings.Contains(text, ":"), strings.Trim(strings.ReplaceAll(text, ":", "."), "0123456789.") == ""}
	}
	for _, s := range c.Claims {
		if !slices.Contains(c.Culprits, s.Source) && !slices.Contains(c.Repeats, s.Source) && !s.Stale && s.Value != wrong && form(s.Value) == form(wrong) && !strings.HasPrefix(s.Value, "(") {
			return s.Value, true
		}
	}
	return "", false
}

func patchLine(dir, file string, line int, wrong, right string, texts map[string][]string, byFile map[string]map[int][2]string) bool {
	path := file
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, file)
	}
	if texts[file] == nil {
		src, err := safefile.ReadInput(path, mostBytes)
		if err != nil || bytes.ContainsRune(src, 0) {
			return false
		}
		texts[file] = strings.Split(string(src), "\n")
	}
	if line > len(texts[file]) {
		return false
	}
	was := texts[file][line-1]
	now := was
	if changed, ok := byFile[file][line]; ok {
		now = changed[1]
	}
	if strings.Count(now, wrong) != 1 || isInWord(now, wrong) {
		return false
	}
	if byFile[file] == nil {
		byFile[file] = map[int][2]string{}
	}
	byFile[file][line] = [2]string{was, strings.Replace(now, wrong, right, 1)}
	return true
}

// isInWord reports whether a value is only a part of a longer word or number.
func isInWord(line, value string) bool {
	at := strings.Index(line, value)
	end := at + len(value)
	return at > 0 && isWordByte(line[at-1]) || end < len(line) && isWordByte(line[end])
}
