package vault

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/internal/nested"
)

// Files of a set besides its parts.
const (
	manifestFile = "manifest.json"
	// sumsFile has a line for every file of the set, for sha256sum -c.
	sumsFile = "SHA256SUMS"
)

const (
	manifestLimit = 16 << 20 // bytes; the largest that is read or written
	textLimit     = 1 << 20
)

// check is nil for a manifest that a vault can keep.
func (m Manifest) check() error {
	switch {
	case m.FormatVersion > Format:
		return fmt.Errorf("it has format version %d, and this program reads up to %d: use a newer Stowage", m.FormatVersion, Format)
	case m.FormatVersion != Format:
		return fmt.Errorf("it has format version %d, not %d", m.FormatVersion, Format)
	case len(m.Parts) == 0:
		return errors.New("it names no parts")
	}
	if err := checkSet(m.Set); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, p := range m.Parts {
		if err := checkFile(p.Name); err != nil {
			return err
		}
		if seen[p.Name] {
			return fmt.Errorf("it names the part %s twice", p.Name)
		}
		seen[p.Name] = true
		if p.Raw < 0 || p.Bytes < 0 || !isSum(p.SHA256) {
			return fmt.Errorf("the part %s has raw_bytes %d, bytes %d and sha256 %.100q: lengths are not negative, and a sum has 64 digits of 0-9a-f", p.Name, p.Raw, p.Bytes, p.SHA256)
		}
	}
	return nil
}

// isSum reports whether s is a SHA-256 as everybody prints it; ids of restic's are such.
func isSum(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == 64 && strings.ToLower(s) == s
}

// encode is the text of a manifest, which decode reads.
func (m Manifest) encode() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%w: the manifest: %w", farm.ErrInput, err)
	}
	raw, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = nested.JSON(raw)
	}
	if err == nil && len(raw) >= manifestLimit {
		err = fmt.Errorf("it has %d bytes, at most %d are taken", len(raw), manifestLimit)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the manifest: %w", farm.ErrInput, err)
	}
	return append(raw, '\n'), nil
}

// decodeManifest reads what may have been written by somebody else. set is the name that it was found under. About comes without the
// spaces of the file.
func decodeManifest(raw []byte, set string) (Manifest, error) {
	var m Manifest
	if len(raw) > manifestLimit {
		return m, fmt.Errorf("it has more than %d bytes", manifestLimit)
	}
	if err := nested.Unmarshal(raw, &m); err != nil {
		return Manifest{}, err
	}
	if err := m.check(); err != nil {
		return Manifest{}, err
	}
	if m.Set != set {
		return Manifest{}, fmt.Errorf("it is the manifest of the set %s", m.Set)
	}
	if len(m.About) > 0 {
		var short bytes.Buffer
		if err := json.Compact(&short, m.About); err != nil {
			return Manifest{}, err
		}
		m.About = short.Bytes()
	}
	return m, nil
}

// sameParts reports whether two manifests have the same parts, in any order.
func sameParts(a, b Manifest) bool {
	return len(a.Parts) == len(b.Parts) && !slices.ContainsFunc(a.Parts, func(p Part) bool { return !slices.Contains(b.Parts, p) })
}

// checkTexts is nil when all texts can be kept beside the parts.
func checkTexts(m Manifest, texts map[string]string) error {
	for name, text := range texts {
		if err := checkFile(name); err != nil {
			return err
		}
		if len(text) > textLimit {
			return fmt.Errorf("%w: the text %s has %d bytes, at most %d are taken", farm.ErrInput, name, len(text), textLimit)
		}
		for _, p := range m.Parts {
			if name == p.Name || name == packedName(p.Name) {
				return fmt.Errorf("%w: %s is the name of a text and of a part", farm.ErrInput, name)
			}
		}
	}
	return nil
}

// packedName is the file of a part in a directory.
func packedName(part string) string { return part + ".zst" }
