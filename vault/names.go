package vault

import (
	"errors"
	"fmt"
	"strings"

	"stowage/farm"
)

// errEmpty is what becomes of a stream without bytes: a backup is never empty, and restic keeps nothing of it.
var errEmpty = errors.New("the producer ended well and has written nothing: an empty part is not kept")

// Limits of names: file systems take 255 bytes, and a suffix of ours is added.
const (
	mostWord  = 128
	mostWords = 8
)

// partialSuffix ends the name of a set that is not whole, in a directory.
const partialSuffix = ".partial"

// checkSet is nil for a relative path of plain words.
func checkSet(set string) error {
	words := strings.Split(set, "/")
	if len(words) > mostWords {
		return fmt.Errorf("%w: the name of a set has %d words, at most %d are taken: %.200q", farm.ErrInput, len(words), mostWords, set)
	}
	for _, w := range words {
		if !isWord(w) || strings.HasSuffix(w, partialSuffix) {
			return fmt.Errorf("%w: %.200q cannot be the name of a set: use words of letters, digits and . _ + -, with / between them, none of which begins with . or ends in %s", farm.ErrInput, set, partialSuffix)
		}
	}
	return nil
}

// checkFile is nil for a name of a part or a text.
func checkFile(name string) error {
	if !isWord(name) || name == manifestFile || name == sumsFile {
		return fmt.Errorf("%w: %.200q cannot be the name of a part or a text: use letters, digits and . _ + -, not . at its beginning, and neither %s nor %s", farm.ErrInput, name, manifestFile, sumsFile)
	}
	return nil
}

// checkNames is nil when both are.
func checkNames(set, name string) error {
	if err := checkSet(set); err != nil {
		return err
	}
	return checkFile(name)
}

// isWord reports whether s is a name that no shell, no file system and no option of a program takes for something else.
func isWord(s string) bool {
	if s == "" || len(s) > mostWord || s[0] == '.' || s[0] == '-' || s[0] == '+' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._+-", r)
	})
}

// isBelow reports whether a set is the prefix, or stands below it.
func isBelow(set, prefix string) bool {
	return prefix == "" || set == prefix || strings.HasPrefix(set, prefix+"/")
}
