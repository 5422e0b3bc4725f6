package start

import (
	"fmt"
	"regexp"
	"strings"
)

// piece is what a reader does at one place of the page: saves a file, or types a
// command and looks at what it prints.
type piece struct {
	line    int      // of the page, from 1
	file    string   // where the text of a block is saved; empty for a command
	text    string   // of the file, or the command
	output  []string // what the page shows below a command
	outputs [2]int   // the lines of the page that hold it, from 0: first, and one past the last
}

const (
	indent = "    "
	prompt = indent + "$ "
	more   = indent + "> "
)

// saved ends a paragraph above a block that the reader is to save as a file.
var saved = regexp.MustCompile("as `(/[^`]+)`:$")

// read takes the page apart. An indented block is either a file, when the line
// above it ends with "as `/PATH`:", or it begins with "$ ": commands, each with its
// output; "> " continues with a command. There are no others: what a page shows and
// nobody tries is wrong one day.
func read(page string) (out []piece, err error) {
	lines := strings.Split(page, "\n")
	above := "" // the last line of text
	for n := 0; n < len(lines); n++ {
		line := lines[n]
		if !strings.HasPrefix(line, indent) {
			if line != "" {
				above = line
			}
			continue
		}
		end := n
		for end < len(lines) && (strings.HasPrefix(lines[end], indent) || lines[end] == "" && end+1 < len(lines) && strings.HasPrefix(lines[end+1], indent)) {
			end++
		}
		file := saved.FindStringSubmatch(above)
		switch {
		case strings.HasPrefix(line, prompt):
			out = append(out, commands(lines, n, end)...)
		case file != nil:
			out = append(out, piece{line: n + 1, file: file[1], text: dedent(lines[n:end])})
		default:
			return nil, fmt.Errorf("line %d: the block is no command (\"$ \") and no file (a line above it that ends with \"as `/PATH`:\")", n+1)
		}
		n = end - 1
	}
	return out, nil
}

// commands are those of lines[from:to], which begin with one.
func commands(lines []string, from, to int) (out []piece) {
	for n := from; n < to; {
		p := piece{line: n + 1, text: strings.TrimPrefix(lines[n], prompt)}
		for n++; n < to && strings.HasPrefix(lines[n], more); n++ {
			p.text += "\n" + strings.TrimPrefix(lines[n], more)
		}
		p.outputs[0] = n
		for n < to && !strings.HasPrefix(lines[n], prompt) {
			p.output = append(p.output, strings.TrimPrefix(lines[n], indent))
			n++
		}
		p.outputs[1] = n
		out = append(out, p)
	}
	return out
}

func dedent(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimPrefix(l, indent) + "\n")
	}
	return b.String()
}

// rewrite puts outputs into the page: those of the pieces, as they are now.
func rewrite(page string, all []piece) string {
	lines := strings.Split(page, "\n")
	for n := len(all) - 1; n >= 0; n-- { // from the end, so that numbers of lines above stay true
		p := all[n]
		if p.file != "" {
			continue
		}
		var now []string
		for _, l := range p.output {
			now = append(now, strings.TrimRight(indent+l, " "))
		}
		lines = append(lines[:p.outputs[0]], append(now, lines[p.outputs[1]:]...)...)
	}
	return strings.Join(lines, "\n")
}

// varies are the figures of an output that differ from run to run, and what stands
// for each when two outputs are compared. Everything else is compared as it is.
var varies = []struct {
	what string
	is   *regexp.Regexp
	as   string
}{
	{"a moment", regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?Z?`), "MOMENT"},
	{"a GTID set", regexp.MustCompile(`\b\d+-\d+-\d+(,\d+-\d+-\d+)*\b`), "GTID"},
	{"a version of MariaDB", regexp.MustCompile(`\d+\.\d+\.\d+-MariaDB[-\w+~.]*`), "VERSION"},
	{"a version of Stowage", regexp.MustCompile(`^stowage version .*`), "stowage version VERSION"},
	{"a rate", regexp.MustCompile(`\d+(\.\d+)? (MB/s|rows/s)`), "RATE"},
	{"a time that something took", regexp.MustCompile(`\b(\d+m)?\d+(\.\d+)? ?(ms|s|seconds|minutes|min)\b`), "TIME"},
	{"a size", regexp.MustCompile(`\b\d+(\.\d+)? ?([kMGT]i?)?B\b`), "SIZE"},
	{"a process", regexp.MustCompile(`\b(process|pid) \d+`), "process PID"},
	{"a count of transactions", regexp.MustCompile(`^( *)\d+ (127\.)`), "N $2"},
	{"the width of a column", regexp.MustCompile(`  +`), "  "},
	{"the end of a line", regexp.MustCompile(` +$`), ""},
}

func normalise(output []string) []string {
	out := make([]string, len(output))
	for n, l := range output {
		for _, v := range varies {
			l = v.is.ReplaceAllString(l, v.as)
		}
		out[n] = l
	}
	return out
}
