package pack

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxVBPItems bounds what a small file can ask for: a demand of a thousand
// million is one short number.
const maxVBPItems = 1_000_000

// ReadVBP reads a vector bin packing instance as the public collections write
// them: the number of dimensions, the capacities, the number of rows, and for
// each row its sizes and how often it is wanted. Line ends mean no more than
// blanks.
//
// The problem has one type of bin, as many as needed. Errors name the line: of
// a word that is not a number, of negative sizes, of a row larger than a bin, and
// of words missing or too many.
func ReadVBP(r io.Reader) (Problem, error) {
	v := &vbpReader{lines: bufio.NewScanner(r)}
	v.lines.Buffer(nil, 16<<20)
	d := v.number("number of dimensions", 1, 1000)
	capacity := make([]int64, 0, 16)
	for k := int64(0); k < d && v.err == nil; k++ {
		capacity = append(capacity, v.number("capacity", 0, maxTotal))
	}
	rows := v.number("number of rows", 0, maxVBPItems)
	p := Problem{Types: []Type{{Capacity: capacity, Limit: -1}}}
	for i := int64(0); i < rows && v.err == nil; i++ {
		demand := make([]int64, 0, len(capacity))
		for k := int64(0); k < d && v.err == nil; k++ {
			demand = append(demand, v.number("size", 0, capacity[k]))
		}
		times := v.number("demand", 0, maxVBPItems)
		if v.err == nil && int64(len(p.Items))+times > maxVBPItems {
			v.fail(fmt.Sprintf("more than %d items", maxVBPItems))
		}
		for k := int64(0); k < times && v.err == nil; k++ {
			p.Items = append(p.Items, Item{Demand: demand})
		}
	}
	if v.err == nil && v.next() {
		v.fail(fmt.Sprintf("%q after the last of %d rows", v.words[0], rows))
	}
	if v.err != nil {
		return Problem{}, v.err
	}
	return p, nil
}

type vbpReader struct {
	lines *bufio.Scanner
	line  int
	words []string
	err   error
}

// next makes sure that words is not empty. It reports false at the end of the
// file and after an error.
func (v *vbpReader) next() bool {
	for v.err == nil && len(v.words) == 0 {
		if !v.lines.Scan() {
			if err := v.lines.Err(); err != nil {
				v.err = fmt.Errorf("read vbp: line %d: %w", v.line+1, err)
			}
			return false
		}
		v.line++
		v.words = strings.Fields(v.lines.Text())
	}
	return v.err == nil
}

func (v *vbpReader) number(what string, least, most int64) int64 {
	if v.err != nil {
		return 0
	}
	if !v.next() {
		if v.err == nil {
			v.fail("the file ends before the " + what)
		}
		return 0
	}
	word := v.words[0]
	v.words = v.words[1:]
	n, err := strconv.ParseInt(word, 10, 64)
	switch {
	case err != nil:
		v.fail(fmt.Sprintf("%s %q is not a whole number", what, word))
	case n < least && least == 0:
		v.fail(fmt.Sprintf("%s %d is negative", what, n))
	case n < least:
		v.fail(fmt.Sprintf("%s %d is below %d", what, n, least))
	case n > most:
		v.fail(fmt.Sprintf("%s %d is above %d", what, n, most))
	}
	return n
}

func (v *vbpReader) fail(what string) {
	v.err = fmt.Errorf("read vbp: line %d: %s", v.line, what)
}
