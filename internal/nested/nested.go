// Package nested reads JSON that somebody else may have written.
//
// It answers: "how deep may this file be nested?" A reader that goes down with
// the brackets needs memory for each of them, and one that names the place of
// each needs the square of that: 40 kB of brackets took 4.1 GB. So the depth is
// looked at before anything else reads the text. It knows no format: what the
// keys mean is for others. YAML is not read here: its library has a limit, and
// package workspace a lower one.
package nested

import (
	"encoding/json"
	"fmt"
	"io"
)

// Limit is deeper than any file that Stowage writes or reads.
const Limit = 64

// TooDeep says where the limit is passed.
type TooDeep struct {
	Offset int64 // in bytes
	Line   int   // from 1
}

func (e *TooDeep) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason()) }

// Reason is the error without the line.
func (e *TooDeep) Reason() string {
	return fmt.Sprintf("values are nested more than %d deep", Limit)
}

// JSON is nil when no value is nested deeper than Limit; otherwise the error is
// a *TooDeep. Whether it is JSON at all is not asked.
func JSON(data []byte) error {
	depth, line := 0, 1
	inText := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\n':
			line++
		case inText && c == '\\':
			i++ // whatever follows, it does not end the text
		case c == '"':
			inText = !inText
		case inText:
		case c == '[' || c == '{':
			if depth++; depth > Limit {
				return &TooDeep{Offset: int64(i), Line: line}
			}
		case (c == ']' || c == '}') && depth > 0:
			depth--
		}
	}
	return nil
}

// Unmarshal is json.Unmarshal within the limit.
func Unmarshal(data []byte, into any) error {
	if err := JSON(data); err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// Read reads a document of at most so many bytes, nested within the limit.
func Read(from io.Reader, most int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(from, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) > most {
		return nil, fmt.Errorf("more than %d bytes", most)
	}
	return raw, JSON(raw)
}
