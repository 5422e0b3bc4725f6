package vault

import (
	"fmt"
	"strings"

	"stowage/farm"
	"stowage/internal/safefile"
)

const envLimit = 64 << 10 // bytes of an env_file

// readEnv reads lines of NAME=VALUE. A value is taken as it stands: nothing is quoted, and nothing is put in for a $.
func readEnv(path string) ([]string, error) {
	if err := safefile.Trusted(path); err != nil {
		return nil, &farm.Error{Op: "read", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "only root and Stowage's own account may be able to change it"}
	}
	raw, err := safefile.ReadFile(path, envLimit)
	if err != nil {
		return nil, &farm.Error{Op: "read", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	env, err := parseEnv(string(raw))
	if err != nil {
		return nil, &farm.Error{Op: "read", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "each line is NAME=VALUE, empty, or begins with #"}
	}
	return env, nil
}

// parseEnv names the line of a fault, and never its value: it may be a secret.
func parseEnv(text string) (env []string, err error) {
	seen := map[string]bool{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		switch {
		case !ok:
			return nil, fmt.Errorf("line %d has no =", n)
		case !isVariable(name):
			return nil, fmt.Errorf("line %d: the part before = is not the name of a variable: letters, digits and _, no spaces, no export", n)
		case seen[name]:
			return nil, fmt.Errorf("line %d: %s is set twice", n, name)
		case strings.HasPrefix(name, "RESTIC_PASSWORD"), strings.HasPrefix(name, "RESTIC_REPOSITORY"):
			return nil, fmt.Errorf("line %d: %s cannot be set here: repository and password file are named in farm.yaml", n, name)
		case strings.HasPrefix(value, `"`), strings.HasPrefix(value, "'"):
			return nil, fmt.Errorf("line %d: the value of %s begins with a quote, which would be taken for a part of it", n, name)
		case strings.ContainsRune(value, 0):
			return nil, fmt.Errorf("line %d: the value of %s has a zero byte", n, name)
		}
		seen[name] = true
		env = append(env, name+"="+value)
	}
	return env, nil
}

func isVariable(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// lookup is the value of a variable, or "".
func lookup(env []string, name string) string {
	for _, line := range env {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return value
		}
	}
	return ""
}
