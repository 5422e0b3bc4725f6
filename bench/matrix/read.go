package matrix

import (
	"errors"
	"fmt"

	"stowage/internal/nested"
)

// IsDocument says whether JSON claims to be the document of a matrix.
func IsDocument(raw []byte) bool {
	var head struct {
		Kind string `json:"kind"`
	}
	return nested.Unmarshal(raw, &head) == nil && head.Kind == Kind
}

// Read takes a document back from its JSON, and says why it cannot.
func Read(raw []byte) (*Document, error) {
	var d Document
	if err := nested.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("it is not a result of a matrix: %w", err)
	}
	switch {
	case d.Kind != Kind || d.FormatVersion == 0:
		return nil, errors.New("it is not a result of a matrix: kind or format_version are missing")
	case d.FormatVersion > FormatVersion:
		return nil, fmt.Errorf("it has format version %d, and this program reads up to %d", d.FormatVersion, FormatVersion)
	case len(d.Cells) == 0:
		return nil, errors.New("it has no cells")
	}
	for i, c := range d.Cells {
		if c == nil || c.Name == "" {
			return nil, fmt.Errorf("cell %d has no name", i+1)
		}
		if c.Result == nil {
			continue
		}
		for k, s := range c.Result.Steps {
			if s == nil || s.ID == "" {
				return nil, fmt.Errorf("step %d of %q has no id", k+1, c.Name)
			}
		}
	}
	if d.Cell(d.Baseline) == nil {
		return nil, fmt.Errorf("its baseline %q is none of its cells", d.Baseline)
	}
	return &d, nil
}
