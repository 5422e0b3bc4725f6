package workspace

import (
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"stowage/farm"
	"stowage/placement"
)

var goalKeys = []string{"onto", "minimise", "headroom", "spread_labels", "parallel", "soak"}

// parseGoals reads goals.yaml over the defaults. A key that is given replaces
// the default as a whole: `headroom: {}` asks for none.
func parseGoals(file string, src []byte, f *farm.Farm) (placement.Goals, error) {
	r := &reader{faults: faults{file: file}}
	g := placement.Defaults()
	if onlyComments(src) {
		return g, nil
	}
	root := r.parseYAML(src)
	if root == nil {
		return g, r.err()
	}
	r.fields(root, func() string { return "the goals" }, goalKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key }
		switch key {
		case "onto":
			g.Onto = nil
			for _, s := range r.words(v, key) {
				g.Onto = append(g.Onto, farm.HostTypeName(s))
			}
		case "minimise":
			g.Minimise = r.words(v, key)
		case "headroom":
			g.Headroom = map[farm.ResourceName]float64{}
			r.named(v, key, func(name string, v *yaml.Node) {
				g.Headroom[farm.ResourceName(name)] = r.percent(v, "headroom of "+name)
			})
		case "spread_labels":
			g.SpreadLabels = r.words(v, key)
		case "parallel":
			g.Parallel = int(r.whole(v, what, 1, 1000))
		case "soak":
			g.Soak = r.duration(v, key)
		default:
			return false
		}
		return true
	})
	r.checked(root, g.Check(f))
	return g, r.err()
}

func onlyComments(src []byte) bool {
	for line := range strings.Lines(string(src)) {
		if text := strings.TrimSpace(line); text != "" && text[0] != '#' {
			return false
		}
	}
	return true
}

func (r *reader) words(n *yaml.Node, what string) []string {
	var words []string
	for _, item := range r.items(n, what) {
		words = append(words, r.text(item, func() string { return "an entry of " + what }))
	}
	return words
}

// percent reads 20% as 0.2.
func (r *reader) percent(n *yaml.Node, what string) float64 {
	number, ok := strings.CutSuffix(n.Value, "%")
	v, err := strconv.ParseFloat(number, 64)
	if n.Kind != yaml.ScalarNode || !ok || err != nil || math.IsNaN(v) || v < 0 || v >= 100 {
		r.fault(n, "%s wants a percentage from 0%% to below 100%% such as 20%%, not %s", what, shownNode(n))
		return 0
	}
	return v / 100
}

func (r *reader) duration(n *yaml.Node, what string) time.Duration {
	v, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || v < 0 {
		r.fault(n, "%s wants a time such as 500ms or 10m, not %s", what, shownNode(n))
		return 0
	}
	return v
}

func shownNode(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode && n.Value != "" {
		return n.Value
	}
	return kindWord(n)
}
