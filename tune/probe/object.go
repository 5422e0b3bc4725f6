package probe

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"stowage/internal/nested"
)

// object is a JSON object of which little is certain: keys differ by version,
// numbers come as text, and what was a value yesterday is a list today.
type object map[string]any

// parseObject reads a JSON object and steps over what tools print before it.
func parseObject(text string) (object, error) {
	if i := strings.IndexByte(text, '{'); i > 0 {
		text = text[i:]
	}
	var out object
	if err := nested.JSON([]byte(text)); err != nil {
		return nil, err
	}
	err := json.NewDecoder(strings.NewReader(text)).Decode(&out)
	return out, err
}

// at follows keys downwards; nil when one is not there.
func (o object) at(keys ...string) object {
	for _, k := range keys {
		next, ok := o[k].(map[string]any)
		if !ok {
			return nil
		}
		o = next
	}
	return o
}

// rows is a list of objects.
func (o object) rows(keys ...string) []object {
	for _, k := range keys {
		list, ok := o[k].([]any)
		if !ok {
			continue
		}
		var out []object
		for _, x := range list {
			if m, ok := x.(map[string]any); ok {
				out = append(out, m)
			}
		}
		return out
	}
	return nil
}

// allRows is a list of objects, or of the lists in an object: HBAs show each drive
// under a heading of its own.
func (o object) allRows(keys ...string) []object {
	if out := o.rows(keys...); out != nil {
		return out
	}
	var out []object
	for _, k := range keys {
		inner := o.at(k)
		for _, heading := range slices.Sorted(maps.Keys(inner)) {
			out = append(out, inner.rows(heading)...)
		}
	}
	return out
}

// text is the first of these keys that holds a word or a number.
func (o object) text(keys ...string) string {
	for _, k := range keys {
		switch v := o[k].(type) {
		case string:
			if v = strings.TrimSpace(v); v != "" && v != "-" {
				return v
			}
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64)
		case bool:
			return strconv.FormatBool(v)
		}
	}
	return ""
}

// number is 0 when there is none.
func (o object) number(keys ...string) int64 {
	n, _ := o.maybe(keys...)
	return n
}

// maybe is a number, and whether there is one.
func (o object) maybe(keys ...string) (int64, bool) {
	f, err := strconv.ParseFloat(o.text(keys...), 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > 1<<62 {
		return 0, false
	}
	return int64(f), true
}

func (o object) truth(key string) bool {
	yes, _ := o.maybeTrue(key)
	return yes
}

// maybeTrue is a truth value, and whether there is one.
func (o object) maybeTrue(key string) (yes, known bool) {
	switch strings.ToLower(o.text(key)) {
	case "true", "1", "yes", "on":
		return true, true
	case "false", "0", "no", "off":
		return false, true
	}
	return false, false
}
