package workspace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"strings"

	"stowage/internal/nested"
)

// readStrictJSON decodes data into the struct that into points to. Unlike
// encoding/json it refuses unknown keys, keys that are there twice and keys in
// another case, and says in which line.
func readStrictJSON(file string, data []byte, into any) error {
	fs := &faults{file: file}
	var deep *nested.TooDeep
	if err := nested.JSON(data); errors.As(err, &deep) {
		fs.add(deep.Line, "%s", deep.Reason())
		return fs.err()
	}
	w := &jsonWalk{dec: json.NewDecoder(bytes.NewReader(data)), data: data, faults: fs}
	w.dec.UseNumber()
	if err := w.value(reflect.TypeOf(into).Elem(), "the file"); err != nil {
		fs.add(w.line(), "%s", jsonCause(err))
	} else if _, err := w.dec.Token(); !errors.Is(err, io.EOF) {
		fs.add(w.line(), "something follows after the end")
	}
	if len(fs.list) > 0 {
		return fs.err()
	}
	if err := nested.Unmarshal(data, into); err != nil {
		fs.add(lineAt(data, jsonOffset(err)), "%s", jsonCause(err))
	}
	return fs.err()
}

// jsonWalk goes through the tokens and the type side by side.
type jsonWalk struct {
	*faults
	dec  *json.Decoder
	data []byte
	at   int64 // up to where lines were counted
	seen int
}

// line is where the decoder is. It goes on counting where it was asked last: a
// file may have a fault in every line.
func (w *jsonWalk) line() int {
	at := w.dec.InputOffset()
	w.seen += bytes.Count(w.data[w.at:at], []byte("\n"))
	w.at = at
	return 1 + w.seen
}

func (w *jsonWalk) value(t reflect.Type, where string) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	tok, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch tok {
	case json.Delim('{'):
		return w.object(t, where)
	case json.Delim('['):
		return w.array(t, where)
	}
	return nil
}

func (w *jsonWalk) object(t reflect.Type, where string) error {
	seen := map[string]bool{}
	keys, types := jsonKeys(t)
	for w.dec.More() {
		tok, err := w.dec.Token()
		if err != nil {
			return err
		}
		key, _ := tok.(string)
		if seen[key] {
			w.add(w.line(), "key %q is there twice in %s", key, where)
		}
		seen[key] = true
		next, known := types[key]
		switch {
		case t != nil && t.Kind() == reflect.Map:
			next = t.Elem()
		case t != nil && t.Kind() == reflect.Struct && !known:
			w.unknown(key, where, keys)
		}
		if err := w.value(next, fmt.Sprintf("%q", key)); err != nil {
			return err
		}
	}
	_, err := w.dec.Token() // }
	return err
}

func (w *jsonWalk) array(t reflect.Type, where string) error {
	var elem reflect.Type
	if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		elem = t.Elem()
	}
	for i := 0; w.dec.More(); i++ {
		if err := w.value(elem, fmt.Sprintf("%s[%d]", where, i)); err != nil {
			return err
		}
	}
	_, err := w.dec.Token() // ]
	return err
}

func (w *jsonWalk) unknown(key, where string, keys []string) {
	if near := nearest(key, keys); near != "" {
		w.add(w.line(), "unknown key %q in %s; did you mean %q?", key, where, near)
		return
	}
	w.add(w.line(), "unknown key %q in %s", key, where)
}

// jsonKeys are the keys of a struct, in its order, and their types.
func jsonKeys(t reflect.Type) ([]string, map[string]reflect.Type) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil, nil
	}
	var keys []string
	types := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct { // as encoding/json does
			inner, of := jsonKeys(f.Type)
			keys = append(keys, inner...)
			maps.Copy(types, of)
			continue
		}
		if name == "" {
			name = f.Name
		}
		keys = append(keys, name)
		types[name] = f.Type
	}
	return keys, types
}

func jsonCause(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the file ends in the middle: it was cut off"
	case errors.As(err, &wrong):
		return fmt.Sprintf("%s must be %s, not %s", wrong.Field, jsonWord(wrong.Type), strings.TrimPrefix(wrong.Value, "number "))
	}
	return "this is not JSON: " + strings.TrimPrefix(err.Error(), "json: ")
}

func jsonWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "keys and values"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	case reflect.Uint32, reflect.Uint64:
		return "a whole number from 0"
	}
	return "a whole number"
}

func jsonOffset(err error) int64 {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		return wrong.Offset
	case errors.As(err, &syntax):
		return syntax.Offset
	}
	return 0
}

func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n"))
}

// versionFault says what to do about a plan of another program.
func versionFault(file string, data []byte, got, want int) error {
	fs := &faults{file: file}
	at := max(bytes.Index(data, []byte(`"format_version"`)), 0)
	fs.add(lineAt(data, int64(at)), "format_version is %d and this program reads %d: make the plan again with `stowage plan`", got, want)
	return fs.err()
}
