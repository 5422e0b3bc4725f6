package schema

import (
	"regexp"
	"strings"

	"stowage/internal/lazy"
)

// column is the line of a column of SHOW CREATE TABLE, taken apart.
type column struct {
	name       string
	kind       string // of the type, in lower case: varchar
	args       string // between the parentheses of the type: 10,2 or 'a','b'
	unsigned   bool
	zerofill   bool
	compressed bool
	charset    string // of texts, that of the table where the column names none; "" for other types
	collation  string
	notNull    bool
	invisible  bool
	auto       bool   // AUTO_INCREMENT
	dflt       string // what is behind DEFAULT; "" for none
	onUpdate   string
	generated  string // the expression; "" for none
	stored     bool
	period     bool // AS ROW START, AS ROW END
	check      string
	comment    string
	rest       string // what was not understood
	text       string
	without    string // text without its default
}

// columnOf reads the line of a column. options are those of its table: they name the character set of columns that name none.
func columnOf(p Part, options string) column {
	c := column{name: p.Name, text: p.Text}
	_, rest := name(p.Text)
	tokens := tokensOf(rest)
	i := 0
	take := func(words ...string) bool { // the next tokens are these words
		if i+len(words) > len(tokens) {
			return false
		}
		for n, w := range words {
			if !strings.EqualFold(tokens[i+n].text, w) {
				return false
			}
		}
		i += len(words)
		return true
	}
	next := func() string {
		if i >= len(tokens) {
			return ""
		}
		i++
		return tokens[i-1].text
	}
	c.kind = strings.ToLower(next())
	if c.kind == "double" {
		take("precision")
	}
	if i < len(tokens) && strings.HasPrefix(tokens[i].text, "(") {
		c.args = inner(next())
	}
	c.without = p.Text
	for i < len(tokens) {
		switch from := tokens[i].at; {
		case take("unsigned"):
			c.unsigned = true
		case take("zerofill"):
			c.zerofill = true
		case take("character", "set"):
			c.charset = strings.ToLower(next())
		case take("collate"):
			c.collation = strings.ToLower(next())
		case take("generated", "always", "as", "row", "start"), take("generated", "always", "as", "row", "end"):
			c.period = true
		case take("generated", "always", "as"):
			c.generated = inner(next())
		case take("virtual"):
		case take("stored"), take("persistent"):
			c.stored = true
		case take("not", "null"):
			c.notNull = true
		case take("null"):
		case take("invisible"):
			c.invisible = true
		case take("auto_increment"):
			c.auto = true
		case take("default"):
			begin := i
			next()
			for i > begin && i < len(tokens) && tokens[i].at == tokens[i-1].end && tokens[i].text[0] == '(' { // of a function
				i++
			}
			if i > begin {
				c.dflt = rest[tokens[begin].at:tokens[i-1].end]
				c.without = strings.TrimRight(p.Text[:len(p.Text)-len(rest)+from], " ") + rest[tokens[i-1].end:]
			}
		case take("on", "update"):
			c.onUpdate = next()
			if i < len(tokens) && strings.HasPrefix(tokens[i].text, "(") {
				c.onUpdate += next()
			}
		case take("comment"):
			c.comment = next()
		case take("check"):
			c.check = inner(next())
		default:
			switch t := next(); {
			case strings.HasPrefix(t, "/*") && strings.Contains(strings.ToUpper(t), " COMPRESSED"):
				c.compressed = true
			case strings.HasPrefix(t, "/*") && strings.Contains(strings.ToUpper(t), " INVISIBLE"): // MySQL
				c.invisible = true
			default:
				c.rest += " " + t
			}
		}
	}
	c.takeCharset(options)
	return c
}

// texts are types with a character set.
var texts = map[string]bool{"char": true, "varchar": true, "tinytext": true, "text": true, "mediumtext": true, "longtext": true, "enum": true, "set": true}

// takeCharset fills in what the table says.
func (c *column) takeCharset(options string) {
	if !texts[c.kind] {
		return
	}
	o := optionValues(options)
	if c.charset == "" {
		c.charset = strings.ToLower(o["CHARSET"])
		if c.collation == "" {
			c.collation = strings.ToLower(o["COLLATE"])
		}
	}
	if c.collation == "" {
		c.collation = "default of " + c.charset
	}
}

// optionValues are the options of a table, by name in upper letters.
func optionValues(s string) map[string]string {
	out := map[string]string{}
	s = unwrapped(s)
	found := option().FindAllStringSubmatchIndex(maskText(s), -1)
	for n, m := range found {
		end := len(s)
		if n+1 < len(found) {
			end = found[n+1][0]
		}
		if m[6] >= 0 {
			out["WITH SYSTEM VERSIONING"] = "yes"
			continue
		}
		v := strings.TrimSpace(s[m[1]:end])
		out[strings.ToUpper(s[m[4]:m[5]])] = strings.TrimSpace(strings.TrimSuffix(v, "DEFAULT"))
	}
	return out
}

type token struct {
	text    string
	at, end int
}

// tokensOf cuts a line into words, quoted texts, comments and parentheses with all that is in them. What stands together without a blank, as in b'101' or uuid(), is one word and one pair
// of parentheses, or one word.
func tokensOf(s string) []token {
	var out []token
	for i := 0; i < len(s); {
		switch {
		case strings.IndexByte(" \t\r\n", s[i]) >= 0:
			i++
		case s[i] == '(':
			_, inside, _, ok := body(s[i:])
			end := len(s)
			if ok {
				end = i + len(inside) + 2
			}
			out = append(out, token{s[i:end], i, end})
			i = end
		case strings.HasPrefix(s[i:], "/*"):
			end := len(s)
			if n := strings.Index(s[i:], "*/"); n >= 0 {
				end = i + n + 2
			}
			out = append(out, token{s[i:end], i, end})
			i = end
		default:
			end := i
			for end < len(s) && strings.IndexByte(" \t\r\n(", s[end]) < 0 && !strings.HasPrefix(s[end:], "/*") {
				end = max(end+1, skip(s, end))
			}
			out = append(out, token{s[i:end], i, end})
			i = end
		}
	}
	return out
}

// inner is what is in the parentheses.
func inner(s string) string {
	if len(s) > 1 && s[0] == '(' && s[len(s)-1] == ')' {
		return strings.TrimSpace(s[1 : len(s)-1])
	}
	return s
}

var constant = lazy.Regexp(`(?is)^(NULL|[-+]?[0-9.]+(e[-+]?[0-9]+)?|(_[a-z0-9]+\s*)?[bxn]?'.*'|true|false)$`)

// isConstant reports whether a default is the same for every row: a literal, NULL, or none at all.
func (c column) isConstant() bool {
	if c.dflt == "" {
		return true
	}
	if !constant().MatchString(c.dflt) {
		return false
	}
	at := strings.IndexByte(c.dflt, '\'') // a literal, and not two with something between
	return at < 0 || skip(c.dflt, at) == len(c.dflt)
}

// isNull reports whether a row that says nothing gets NULL.
func (c column) isNull() bool {
	return !c.notNull && c.generated == "" && (c.dflt == "" || strings.EqualFold(c.dflt, "NULL"))
}

// meaning is the column without the words in which its line says it: a column that names no character set is another one when its table has another.
func (c column) meaning() column {
	c.text, c.without = "", ""
	return c
}

// word matches a name as a whole word, quoted or not.
func word(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|[^\p{L}\p{N}_$])` + regexp.QuoteMeta(name) + `($|[^\p{L}\p{N}_$])`)
}
