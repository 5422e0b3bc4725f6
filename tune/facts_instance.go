package tune

import (
	"fmt"
	"strconv"
	"strings"
)

// Instance is one server on the machine, as far as its option files, its
// process and, when it was asked, itself tell.
type Instance struct {
	Name      string
	MariaDB   bool // else MySQL or one of its kin
	Version   Version
	Datadir   string
	Options   []Option          // in the order in which the server reads them
	Variables map[string]string // of the running server, in small letters; nil: it was not asked
	Status    map[string]string
	Process   *Process
	AIO       string // how InnoDB waits for disks, by its log: "io_uring", "libaio"
	Atomic    *AtomicWrites
	Files     []FileUse // while somebody watched
}

// AtomicWrites are the sizes of writes of a file that are never torn, in bytes;
// zeros where its filesystem promises none. Nil where kernel or filesystem do not
// know the question.
type AtomicWrites struct{ Min, Max int64 }

// Option is one line of an option file that the server reads.
type Option struct {
	File       string
	Number     int
	Group      string // in the file: "mysqld-8.0"
	Key, Value string // canonical key, without "loose_"
	Loose      bool   // an unknown one is no reason not to start
}

// Process is a running server.
type Process struct {
	PID       int
	RSS       int64 // bytes
	Swapped   int64
	HugePages *bool      // may have transparent huge pages at all
	Huge      int64      // has so many bytes of them
	Allocator string     // "jemalloc", "tcmalloc", "glibc"
	Queue     *RunQueue  // nil: not known
	Throttles []Throttle // of its control group and those around it
}

// setting is a variable's value and where it was read: from the running server
// when it was asked, else from the last option file that has it.
func (i Instance) setting(name string) (value, where string, ok bool) {
	if v, ok := i.Variables[name]; ok {
		return v, fmt.Sprintf("%s=%s in the running server", name, v), true
	}
	for n := len(i.Options) - 1; n >= 0; n-- {
		if o := i.Options[n]; o.Key == name {
			return o.Value, fmt.Sprintf("%s=%s in %s:%d", name, o.Value, o.File, o.Number), true
		}
	}
	return "", "", false
}

// is compares a setting as servers do: ON, on and 1 are one.
func is(value string, words ...string) bool {
	for _, w := range words {
		if strings.EqualFold(value, w) {
			return true
		}
	}
	return false
}

// amount reads a number with a suffix, as option files have it: 4G.
func amount(value string) (int64, bool) {
	text := strings.ToUpper(strings.TrimSpace(value))
	factor := int64(1)
	for i, suffix := range []string{"K", "M", "G", "T"} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			text, factor = number, int64(1)<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/factor {
		return 0, false
	}
	return n * factor, true
}

// number is a setting as a number.
func (i Instance) number(name string) (n int64, where string, ok bool) {
	value, where, ok := i.setting(name)
	if !ok {
		return 0, "", false
	}
	n, ok = amount(value)
	return n, where, ok
}

// usesEngine reports whether a storage engine is loaded on purpose.
func (i Instance) usesEngine(names ...string) (string, bool) {
	for _, n := range names {
		if v, _, ok := i.setting("default_storage_engine"); ok && strings.EqualFold(v, n) {
			return n, true
		}
		for _, o := range i.Options {
			if strings.HasPrefix(o.Key, "plugin_load") && strings.Contains(strings.ToLower(o.Value), strings.ToLower(n)) {
				return n, true
			}
		}
		if n == "ROCKSDB" && i.Variables["rocksdb_block_cache_size"] != "" {
			return n, true
		}
	}
	return "", false
}

// variable is the change of a dynamic variable, or nil when the server was not
// asked and nobody knows what it has.
func (i Instance) variable(name, to string) *Change {
	now, ok := i.Variables[name]
	if !ok {
		return nil
	}
	return &Change{Instance: i.Name, Variable: name, From: now, To: to}
}

// each looks at one setting of every instance that has it.
func (f *Facts) each(name string, look func(i Instance, value, where string) (Finding, bool)) Outcome {
	var out []Finding
	n := 0
	for _, i := range f.Instances {
		value, where, ok := i.setting(name)
		if !ok {
			continue
		}
		n++
		if x, bad := look(i, value, where); bad {
			out = append(out, x)
		}
	}
	return judged(out, n, "no instance says what its "+name+" is")
}
