package workspace

import (
	"fmt"
	"sort"
	"strings"

	"stowage/farm"
)

// fault is one thing wrong in a file.
type fault struct {
	line int
	text string
}

// faults collects what is wrong in one file.
type faults struct {
	file string
	list []fault
}

// shownFaults is how many faults are printed; the rest are counted. A wrong
// unit in every row of a large farm is one mistake, not 100,000.
const shownFaults = 20

func (fs *faults) add(line int, format string, args ...any) {
	fs.list = append(fs.list, fault{line, fmt.Sprintf(format, args...)})
}

// err is nil without faults. One fault reads "read farm.yaml:12: ..."; several
// follow each other, one a line, in the order of the file.
func (fs *faults) err() error {
	if len(fs.list) == 0 {
		return nil
	}
	sort.SliceStable(fs.list, func(i, j int) bool { return fs.list[i].line < fs.list[j].line })
	e := &farm.Error{Op: "read", Subject: fs.file, Hint: "correct " + fs.file + " and run the command again; nothing was changed"}
	if len(fs.list) == 1 {
		e.Subject = fmt.Sprintf("%s:%d", fs.file, fs.list[0].line)
		e.Err = inputError(fs.list[0].text)
		return e
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d problems", len(fs.list))
	for i, f := range fs.list {
		if i == shownFaults {
			fmt.Fprintf(&b, "\nand %d more", len(fs.list)-shownFaults)
			break
		}
		fmt.Fprintf(&b, "\n%s:%d: %s", fs.file, f.line, f.text)
	}
	e.Err = inputError(b.String())
	return e
}

// inputError is a message that unwraps to farm.ErrInput without repeating it.
type inputError string

func (e inputError) Error() string { return string(e) }
func (e inputError) Unwrap() error { return farm.ErrInput }

// longWord is longer than any key; what is longer is no misspelt one.
const longWord = 60

// nearest is the known word closest to a misspelt one, or "" when none is
// close enough to be what was meant.
func nearest(word string, known []string) string {
	if len(word) > longWord {
		return ""
	}
	best, bestDistance := "", 1+max(1, len(word)/3)
	for _, k := range known {
		if d := editDistance(strings.ToLower(word), strings.ToLower(k)); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// editDistance counts insertions, deletions, replacements, and two neighbours
// that have changed places ("corse"): the optimal string alignment distance.
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
