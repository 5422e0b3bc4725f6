package result

import (
	"encoding/json"
	"errors"
	"fmt"

	"stowage/internal/nested"
)

// Read takes a result back from its JSON, and says why it cannot.
func Read(raw []byte) (*Result, error) {
	var r Result
	if err := nested.Unmarshal(raw, &r); err != nil {
		var at *json.SyntaxError
		if errors.As(err, &at) {
			return nil, fmt.Errorf("it is not JSON: %w at byte %d of %d", err, at.Offset, len(raw))
		}
		return nil, fmt.Errorf("it is not a result of a bench: %w", err)
	}
	switch {
	case r.FormatVersion == 0 || len(r.Steps) == 0:
		return nil, errors.New("it is not a result of a bench: format_version or steps are missing")
	case r.FormatVersion > FormatVersion:
		return nil, fmt.Errorf("it has format version %d, and this program reads up to %d", r.FormatVersion, FormatVersion)
	}
	for i, s := range r.Steps {
		if s == nil || s.ID == "" {
			return nil, fmt.Errorf("step %d has no id", i+1)
		}
	}
	return &r, nil
}
