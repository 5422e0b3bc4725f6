// Package pin has the words for packages of one exact version.
//
// It answers: "is this the name and the version of a package, and of which
// series is that version?" Its main type is Pin. It is pure, and asks no package
// manager: which of two versions is newer is dpkg's to say.
package pin

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Pin is a package of one version, as dpkg writes both: mariadb-server=1:10.11.19-0+deb12u1.
type Pin struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

func (p Pin) String() string { return p.Name + "=" + p.Version }

// Parse reads NAME=VERSION.
func Parse(text string) (Pin, error) {
	name, version, ok := strings.Cut(text, "=")
	if !ok {
		return Pin{}, fmt.Errorf("%q is not a NAME=VERSION", text)
	}
	if wrong := Fault(name, version); wrong != "" {
		return Pin{}, fmt.Errorf("%s", wrong)
	}
	return Pin{name, version}, nil
}

// Fault is why this is not a package of one version; "" when it is. What passes is never taken for an option or a pattern by apt.
func Fault(name, version string) string {
	const lower, digits = "abcdefghijklmnopqrstuvwxyz", "0123456789"
	switch {
	case len(name) < 2 || len(name) > 100 || !strings.Contains(lower+digits, name[:1]) || strings.Trim(name, lower+digits+"+-.") != "" || strings.HasSuffix(name, "+") || strings.HasSuffix(name, "-"):
		return fmt.Sprintf("%q is not the name of a package", name)
	case version == "" || len(version) > 100 || !strings.Contains(digits, version[:1]) || strings.Trim(version, lower+strings.ToUpper(lower)+digits+"+-.:~") != "":
		return fmt.Sprintf("%q is not a version of %s: write it whole, as apt-cache madison %s prints it", version, name, name)
	}
	return ""
}

// Of are the pins of a map, by name.
func Of(versions map[string]string) []Pin {
	var out []Pin
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		out = append(out, Pin{name, versions[name]})
	}
	return out
}

// Upstream is the version of the software in a package: 10.11.19 of 1:10.11.19-0+deb12u1.
func Upstream(version string) string {
	if _, after, ok := strings.Cut(version, ":"); ok {
		version = after
	}
	if n := strings.LastIndex(version, "-"); n >= 0 {
		version = version[:n]
	}
	return version
}

// Series is what a minor upgrade does not leave: 10.11 of 1:10.11.19-0+deb12u1.
func Series(version string) string {
	parts := strings.SplitN(Upstream(version), ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
