package claims

import "time"

// Spec is a source as inventory.yaml declares it.
type Spec struct {
	Name    string
	Kind    string // "farm", "live", "csv", ...
	Line    int    // in inventory.yaml
	Path    string // file, directory or pattern; relative to the workspace
	URL     string
	Command []string
	Timeout time.Duration // 0: that of its kind
	CopyOf  string
	Feeds   []string // sources that are made of this one
	Covers  []Kind   // nil: not declared
	// What an entry of the source is, how it is called, and what it claims.
	Subject    Kind
	Each       string            // where the entries are: a path into the file
	Called     string            // column, path or variable with the name
	Attributes map[string]string // attribute -> column, path, variable or query
	Groups     []string          // of an Ansible inventory; none: all hosts
	Series     map[string]string // resource -> query of Prometheus, for forecasts; none: the usual ones
}

// Declared is inventory.yaml.
type Declared struct {
	Specs []Spec
	Rules
}
