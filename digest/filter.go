package digest

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// Filter decides which events count. It is an expression over one event:
//
//	query_time > 10ms and db = shop_* and not (user = backup or full_scan)
//
//	numbers   query_time lock_time rows_sent rows_examined rows_affected bytes_sent query_bytes thread
//	          with = != < <= > >=; times take ns us ms s min h (seconds without a unit), counts take k M G
//	texts     user host db query fingerprint id verb table
//	          with = and != (any case; * stands for anything) and with ~ and !~ (a regular expression, any case);
//	          table is true when any table of the statement matches, id when 32 or 16 digits do
//	claims    full_scan full_join tmp_table tmp_table_on_disk filesort filesort_on_disk query_cache_hit error killed admin
//	          stand alone
//
// combined with and, or, not and parentheses. Values with blanks or signs in them stand in single or double quotes. It has
// no loops, no side effects and no access to anything but the event.
type Filter struct {
	source string
	root   condition
	fields []string // that it looks at
}

// String is the text the filter was made from, and how it travels.
func (f *Filter) String() string { return f.source }

// MarshalText implements encoding.TextMarshaler.
func (f *Filter) MarshalText() ([]byte, error) { return []byte(f.source), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Filter) UnmarshalText(text []byte) error {
	read, err := ParseFilter(string(text))
	if err != nil {
		return err
	}
	*f = *read
	return nil
}

// candidate is the event a filter looks at.
type candidate struct {
	e *event
	b *Builder
}

type condition func(*candidate) bool

// ParseFilter reads an expression. Errors name the column and what could be there.
func ParseFilter(source string) (*Filter, error) {
	p := filterParser{text: source}
	p.advance()
	root, err := p.or()
	if err == nil && p.word != "" {
		err = p.wrong("and, or, or the end")
	}
	if err != nil {
		return nil, fmt.Errorf("read filter: %w", err)
	}
	return &Filter{source, root, p.fields}, nil
}

// filterParser is a recursive descent over words.
type filterParser struct {
	text   string
	at     int    // behind word
	begin  int    // of word
	word   string // the present word, unquoted; empty at the end
	quoted bool
	depth  int
	fields []string
}

func (p *filterParser) wrong(want string) error {
	if p.word == "" && !p.quoted {
		return fmt.Errorf("column %d: %s expected, but it ends there", p.begin+1, want)
	}
	return fmt.Errorf("column %d: %s expected, found %q", p.begin+1, want, p.word)
}

// advance moves to the next word: a parenthesis, an operator, a quoted text or a run of anything else.
func (p *filterParser) advance() {
	for p.at < len(p.text) && isBlank(p.text[p.at]) {
		p.at++
	}
	p.begin, p.word, p.quoted = p.at, "", false
	if p.at >= len(p.text) {
		return
	}
	switch c := p.text[p.at]; {
	case c == '(' || c == ')':
		p.word = string(c)
		p.at++
	case isFilterOperator(c):
		for p.at < len(p.text) && isFilterOperator(p.text[p.at]) {
			p.at++
		}
		p.word = p.text[p.begin:p.at]
	case c == '\'' || c == '"':
		end := strings.IndexByte(p.text[p.at+1:], c)
		if end < 0 {
			end = len(p.text) - p.at - 1
		}
		p.word, p.quoted = p.text[p.at+1:p.at+1+end], true
		p.at = min(p.at+end+2, len(p.text))
	default:
		for p.at < len(p.text) && !isBlank(p.text[p.at]) && !isFilterOperator(p.text[p.at]) && !strings.ContainsRune("()'\"", rune(p.text[p.at])) {
			p.at++
		}
		p.word = p.text[p.begin:p.at]
	}
}

func isFilterOperator(c byte) bool { return c == '=' || c == '!' || c == '<' || c == '>' || c == '~' }

func (p *filterParser) is(word string) bool { return !p.quoted && strings.EqualFold(p.word, word) }

func (p *filterParser) or() (condition, error) {
	left, err := p.and()
	for err == nil && p.is("or") {
		p.advance()
		var right condition
		if right, err = p.and(); err == nil {
			l := left
			left = func(c *candidate) bool { return l(c) || right(c) }
		}
	}
	return left, err
}

func (p *filterParser) and() (condition, error) {
	left, err := p.not()
	for err == nil && p.is("and") {
		p.advance()
		var right condition
		if right, err = p.not(); err == nil {
			l := left
			left = func(c *candidate) bool { return l(c) && right(c) }
		}
	}
	return left, err
}

func (p *filterParser) not() (condition, error) {
	if p.depth++; p.depth > 200 {
		return nil, fmt.Errorf("column %d: nested too deeply", p.begin+1)
	}
	defer func() { p.depth-- }()
	switch {
	case p.is("not"):
		p.advance()
		inner, err := p.not()
		if err != nil {
			return nil, err
		}
		return func(c *candidate) bool { return !inner(c) }, nil
	case p.is("("):
		p.advance()
		inner, err := p.or()
		if err != nil {
			return nil, err
		}
		if !p.is(")") {
			return nil, p.wrong(")")
		}
		p.advance()
		return inner, nil
	}
	return p.comparison()
}

func (p *filterParser) comparison() (condition, error) {
	field := strings.ToLower(p.word)
	p.fields = append(p.fields, field)
	if p.quoted || field == "" || isFilterOperator(field[0]) || field == ")" {
		return nil, p.wrong("a field")
	}
	for bit, name := range flagNames {
		if name == field {
			p.advance()
			return func(c *candidate) bool { return c.e.flags>>bit&1 == 1 }, nil
		}
	}
	number, isNumber := filterNumbers[field]
	text, isText := filterTexts[field]
	if !isNumber && !isText {
		return nil, fmt.Errorf("column %d: no field %q; there are %s", p.begin+1, p.word, strings.Join(filterFields(), ", "))
	}
	p.advance()
	op := p.word
	if p.quoted || op == "" || !isFilterOperator(op[0]) {
		return nil, p.wrong("an operator (= != < <= > >= ~ !~)")
	}
	p.advance()
	if p.word == "" && !p.quoted || !p.quoted && (p.word == "(" || p.word == ")" || isFilterOperator(p.word[0])) {
		return nil, p.wrong("a value")
	}
	var c condition
	var err error
	if isNumber {
		c, err = p.numberCondition(number, op)
	} else {
		c, err = p.textCondition(text, op)
	}
	if err != nil {
		return nil, err
	}
	p.advance()
	return c, nil
}

// filterNumbers are the fields that are numbers. Times are in seconds; what is not known compares as no number.
var filterNumbers = map[string]func(*candidate) float64{
	"query_time": func(c *candidate) float64 {
		if !c.e.timed {
			return math.NaN()
		}
		return c.e.queryTime.seconds()
	},
	"lock_time":     func(c *candidate) float64 { return float64(c.e.lockTime) / 1e9 },
	"rows_sent":     func(c *candidate) float64 { return float64(c.e.rowsSent) },
	"rows_examined": func(c *candidate) float64 { return float64(c.e.rowsExamined) },
	"rows_affected": func(c *candidate) float64 { return float64(c.e.rowsAffected) },
	"bytes_sent":    func(c *candidate) float64 { return float64(c.e.bytesSent) },
	"query_bytes":   func(c *candidate) float64 { return float64(len(c.e.text)) },
	"thread":        func(c *candidate) float64 { return float64(c.e.thread) },
}

// filterTexts are the fields that are texts. Each hands its values to the test until one passes.
var filterTexts = map[string]func(*candidate, func([]byte) bool) bool{
	"user":        func(c *candidate, test func([]byte) bool) bool { return test(c.e.user.text) },
	"host":        func(c *candidate, test func([]byte) bool) bool { return test(c.e.host.text) },
	"db":          func(c *candidate, test func([]byte) bool) bool { return test(c.e.db.text) },
	"query":       func(c *candidate, test func([]byte) bool) bool { return test(c.e.text) },
	"fingerprint": func(c *candidate, test func([]byte) bool) bool { return test(c.b.fingerprint(c.e)) },
	"id": func(c *candidate, test func([]byte) bool) bool {
		sum := md5.Sum(c.b.fingerprint(c.e))
		id := hex.AppendEncode(nil, sum[:])
		return test(id) || test(id[16:])
	},
	"verb": func(c *candidate, test func([]byte) bool) bool {
		t := tokens{q: c.e.text}
		t.next()
		return test(t.q[t.at:t.end])
	},
	"table": func(c *candidate, test func([]byte) bool) bool {
		for _, t := range tablesOf(nil, c.e.text) {
			if test(t) {
				return true
			}
		}
		return false
	},
}

func filterFields() []string {
	out := append([]string(nil), flagNames[:]...)
	for f := range filterNumbers {
		out = append(out, f)
	}
	for f := range filterTexts {
		out = append(out, f)
	}
	sort.Strings(out)
	return out
}

func (p *filterParser) numberCondition(field func(*candidate) float64, op string) (condition, error) {
	v, ok := filterNumber(p.word)
	if !ok {
		return nil, p.wrong("a number, such as 10, 2.5ms or 1k")
	}
	switch op {
	case "=", "==":
		return func(c *candidate) bool { return field(c) == v }, nil
	case "!=", "<>":
		return func(c *candidate) bool { return field(c) != v }, nil
	case "<":
		return func(c *candidate) bool { return field(c) < v }, nil
	case "<=":
		return func(c *candidate) bool { return field(c) <= v }, nil
	case ">":
		return func(c *candidate) bool { return field(c) > v }, nil
	case ">=":
		return func(c *candidate) bool { return field(c) >= v }, nil
	}
	return nil, fmt.Errorf("column %d: %s does not go with a number", p.begin+1, op)
}

// filterNumber reads a number with its unit.
func filterNumber(s string) (float64, bool) {
	for _, u := range []struct {
		suffix string
		factor float64
	}{{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3}, {"min", 60}, {"s", 1}, {"h", 3600}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"", 1}} {
		if digits, ok := strings.CutSuffix(s, u.suffix); ok {
			v, err := strconv.ParseFloat(digits, 64)
			return v * u.factor, err == nil && !math.IsNaN(v)
		}
	}
	return 0, false
}

func (p *filterParser) textCondition(field func(*candidate, func([]byte) bool) bool, op string) (condition, error) {
	var expr string
	switch op {
	case "=", "==", "!=", "<>":
		expr = `^` + strings.ReplaceAll(regexp.QuoteMeta(p.word), `\*`, `.*`) + `$`
	case "~", "!~":
		expr = p.word
	default:
		return nil, fmt.Errorf("column %d: %s does not go with a text", p.begin+1, op)
	}
	re, err := regexp.Compile(`(?is)` + expr)
	if err != nil {
		return nil, fmt.Errorf("column %d: %w", p.begin+1, err)
	}
	if op[0] == '!' || op == "<>" {
		return func(c *candidate) bool { return !field(c, re.Match) }, nil
	}
	return func(c *candidate) bool { return field(c, re.Match) }, nil
}
