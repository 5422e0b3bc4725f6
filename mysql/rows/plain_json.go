package rows

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// appendDocument writes a JSON document of MySQL's without the freedom that
// its text has: no white space, one way to write a string and a double. What is
// no document becomes a string.
func appendDocument(dst, raw []byte) []byte {
	begin := len(dst)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	dst, err := appendNext(dst, d)
	if _, rest := d.Token(); err != nil || !errors.Is(rest, io.EOF) {
		return AppendJSONString(dst[:begin], raw)
	}
	return dst
}

func appendNext(dst []byte, d *json.Decoder) ([]byte, error) {
	t, err := d.Token()
	if err != nil {
		return dst, err
	}
	switch x := t.(type) {
	case json.Delim:
		dst = append(dst, byte(x))
		for n := 0; d.More(); n++ {
			if n > 0 {
				dst = append(dst, ',')
			}
			if x == '{' {
				if dst, err = appendNext(dst, d); err != nil {
					return dst, err
				}
				dst = append(dst, ':')
			}
			if dst, err = appendNext(dst, d); err != nil {
				return dst, err
			}
		}
		end, err := d.Token()
		if err != nil {
			return dst, err
		}
		closing, _ := end.(json.Delim)
		return append(dst, byte(closing)), nil
	case string:
		return AppendJSONString(dst, []byte(x)), nil
	case json.Number:
		return appendNumber(dst, x.String()), nil
	case bool:
		return strconv.AppendBool(dst, x), nil
	}
	return append(dst, "null"...), nil
}

// appendNumber: an integer stays as it is, and a DECIMAL that no double holds.
func appendNumber(dst []byte, text string) []byte {
	whole, fraction, _ := strings.Cut(strings.TrimLeft(text, "-0"), ".")
	isExact := !strings.ContainsAny(text, "eE") && (!strings.Contains(text, ".") || strings.Trim(fraction, "0") != "" && len(whole)+len(fraction) > 17)
	v, err := strconv.ParseFloat(text, 64)
	if isExact || err != nil {
		return append(dst, text...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

// AppendJSONString adds UTF-8 as a JSON string.
func AppendJSONString(dst, text []byte) []byte {
	n := 0 // most text is this and nothing else
	for n < len(text) && ' ' <= text[n] && text[n] < utf8.RuneSelf && text[n] != '"' && text[n] != '\\' {
		n++
	}
	plain := !bytes.ContainsFunc(text[n:], func(r rune) bool {
		return r < ' ' || r == '"' || r == '\\' || r == utf8.RuneError || r == '\u2028' || r == '\u2029'
	})
	if plain {
		return append(append(append(dst, '"'), text...), '"')
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(string(text)) // a string and a buffer
	return append(dst, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}
