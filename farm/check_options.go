package farm

import "path"

// starter is an instance that starts with an option file.
type starter struct {
	name   string
	suffix string
}

// IsGroupSuffix says what may be behind mysqld in a group of an option file:
// "1" in [mysqld1], ".s1" in [mysqld.s1], "@s1" in [mysqld@s1].
func IsGroupSuffix(text string) bool {
	for _, c := range text {
		word := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !word && c != '.' && c != '_' && c != '-' && c != '@' {
			return false
		}
	}
	return text != "" && len(text) <= 64
}

// optionFile: what a move writes into the option file of one side must be read
// by that side's server and no other.
func (c *checker) optionFile(at, me string, h Host, s Side) {
	if s.GroupSuffix != "" && !IsGroupSuffix(s.GroupSuffix) {
		c.say(at+".group_suffix", "group_suffix of %s is %q: it is the part of the group's name after mysqld, 1 for [mysqld1], .s1 for [mysqld.s1], \"@s1\" for [mysqld@s1]", me, s.GroupSuffix)
	}
	if s.Config == "" {
		return
	}
	file := h.Address + ":" + path.Clean(s.Config)
	for _, other := range c.starts[file] {
		switch {
		case s.GroupSuffix == "" || other.suffix == "":
			c.say(at+".config", "%s and %s start with the same option file, %s on host %s: each would read what a move writes there for the other. "+
				"Give each the group_suffix its server has (1 for [mysqld1] of mysqld_multi, .s1 for mariadb@s1, \"@s1\" for mysqld@s1), or an option file of its own", other.name, me, s.Config, s.Host)
		case s.GroupSuffix == other.suffix:
			c.say(at+".group_suffix", "%s and %s have the same group_suffix, %s, in the same option file, %s on host %s: give each its own", other.name, me, s.GroupSuffix, s.Config, s.Host)
		default:
			continue
		}
		break
	}
	c.starts[file] = append(c.starts[file], starter{me, s.GroupSuffix})
}
