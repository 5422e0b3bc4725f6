package metrics

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind is the type of a family.
type Kind string

const (
	Gauge   Kind = "gauge"
	Counter Kind = "counter"
)

// Family is all samples of one name.
type Family struct {
	Name, Help string
	Kind       Kind
	Labels     []string // the names of labels, in order
	Samples    []Sample
}

// Sample is one value; its labels are in the order of those of the family.
type Sample struct {
	Labels []string
	Value  float64
}

// Put adds a sample.
func (f *Family) Put(value float64, labels ...string) {
	if len(labels) != len(f.Labels) {
		panic("metrics: " + f.Name + " has " + fmt.Sprint(len(f.Labels)) + " labels") // a bug of ours
	}
	f.Samples = append(f.Samples, Sample{labels, value})
}

// Flag is 1 for what is so, else 0.
func Flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Write prints families in the order given and their samples by their labels. One without samples is left out.
func Write(w io.Writer, families []Family) error {
	b := bufio.NewWriter(w)
	for _, f := range families {
		if len(f.Samples) == 0 {
			continue
		}
		fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", f.Name, escape(f.Help, false), f.Name, f.Kind)
		samples := slices.Clone(f.Samples)
		slices.SortStableFunc(samples, func(a, b Sample) int { return slices.CompareFunc(a.Labels, b.Labels, cmp.Compare[string]) })
		for _, s := range samples {
			fmt.Fprint(b, f.Name)
			for i, l := range f.Labels {
				fmt.Fprintf(b, "%s%s=\"%s\"", map[bool]string{true: "{", false: ","}[i == 0], l, escape(s.Labels[i], true))
			}
			if len(f.Labels) > 0 {
				fmt.Fprint(b, "}")
			}
			fmt.Fprintln(b, "", number(s.Value))
		}
	}
	return b.Flush()
}

func escape(text string, isLabel bool) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if isLabel {
		return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(text)
	}
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(text)
}

func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
