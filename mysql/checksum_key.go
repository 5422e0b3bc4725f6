package mysql

import (
	"encoding/json"
	"fmt"
	"strconv"

	"stowage/internal/nested"
)

// Key is the key of one row, in values that a statement can take: integers, text, bytes. As JSON each says what it is, so
// that it compares afterwards as it did before: 7 is not '7' to a server, nor is text a string of bytes.
type Key []any

// MarshalJSON writes [["i","7"],["s","anna"]].
func (k Key) MarshalJSON() ([]byte, error) {
	if k == nil {
		return []byte("null"), nil
	}
	parts := make([][2]any, len(k))
	for i, v := range k {
		switch v := v.(type) {
		case nil:
			parts[i] = [2]any{"n", ""}
		case int64:
			parts[i] = [2]any{"i", strconv.FormatInt(v, 10)}
		case uint64:
			parts[i] = [2]any{"u", strconv.FormatUint(v, 10)}
		case float64:
			parts[i] = [2]any{"f", strconv.FormatFloat(v, 'g', -1, 64)}
		case float32:
			parts[i] = [2]any{"f", strconv.FormatFloat(float64(v), 'g', -1, 64)}
		case string:
			parts[i] = [2]any{"s", []byte(v)} // base64: it need not be UTF-8
		case []byte:
			parts[i] = [2]any{"b", v}
		default:
			return nil, fmt.Errorf("keep key: a %T cannot be kept", v)
		}
	}
	return json.Marshal(parts)
}

// UnmarshalJSON reads what MarshalJSON has written.
func (k *Key) UnmarshalJSON(raw []byte) error {
	var parts [][2]json.RawMessage
	if err := nested.Unmarshal(raw, &parts); err != nil {
		return err
	}
	if parts == nil {
		*k = nil
		return nil
	}
	out := make(Key, len(parts))
	for i, p := range parts {
		v, err := keyValue(p)
		if err != nil {
			return fmt.Errorf("read key: %w", err)
		}
		out[i] = v
	}
	*k = out
	return nil
}

func keyValue(part [2]json.RawMessage) (any, error) {
	var kind, text string
	if err := nested.Unmarshal(part[0], &kind); err != nil {
		return nil, err
	}
	if kind == "s" || kind == "b" {
		var b []byte
		if err := nested.Unmarshal(part[1], &b); err != nil {
			return nil, err
		}
		if kind == "s" {
			return string(b), nil
		}
		return b, nil
	}
	if err := nested.Unmarshal(part[1], &text); err != nil {
		return nil, err
	}
	switch kind {
	case "n":
		return nil, nil
	case "i":
		return strconv.ParseInt(text, 10, 64)
	case "u":
		return strconv.ParseUint(text, 10, 64)
	case "f":
		return strconv.ParseFloat(text, 64)
	}
	return nil, fmt.Errorf("unknown kind %q", kind)
}
