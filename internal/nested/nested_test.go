package nested

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestJSONIsReadHoweverDeep(t *testing.T) {
	for text, line := range map[string]int{
		"":   0,
		"[]": 0,
		strings.Repeat("[", Limit) + strings.Repeat("]", Limit):        0,
		strings.Repeat("[", Limit+1):                                   1,
		"\n\n" + strings.Repeat(`{"a":`, Limit+1):                      3,
		strings.Repeat("[\n", 40000):                                   Limit + 1,
		`"` + strings.Repeat("[", 1000) + `"`:                          0,
		`"\"` + strings.Repeat("[", 1000) + `"`:                        0,
		`"\\"` + strings.Repeat("[", 1000):                             1,
		"[" + strings.Repeat("[],", 1000) + "[]]":                      0,
		strings.Repeat("]", 1000) + strings.Repeat("[", Limit):         0,
		`{"k":"\u005b"}` + strings.Repeat(`{"a":[`, Limit/2) + `"x\n"`: 0,
	} {
		err := JSON([]byte(text))
		var deep *TooDeep
		got := 0
		if errors.As(err, &deep) {
			got = deep.Line
		}
		if got != line || (err != nil) != (line > 0) {
			t.Errorf("%.40q...: %v, want line %d", text, err, line)
		}
		var v any
		if err := Unmarshal([]byte(text), &v); line > 0 && !errors.As(err, &deep) {
			t.Errorf("%.40q...: decoded, %v", text, err)
		}
	}
}

func FuzzDepthIsThatOfTheDecoder(f *testing.F) {
	f.Add([]byte(`{"a":["\"[",{"b":[1]}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		deepest, depth := 0, 0
		d := json.NewDecoder(strings.NewReader(string(raw)))
		for {
			tok, err := d.Token()
			if err != nil {
				break
			}
			switch tok {
			case json.Delim('['), json.Delim('{'):
				depth++
			case json.Delim(']'), json.Delim('}'):
				depth--
			}
			deepest = max(deepest, depth)
		}
		if err := JSON(raw); (err != nil) != (deepest > Limit) {
			t.Errorf("%d deep, and %v", deepest, err)
		}
	})
}
