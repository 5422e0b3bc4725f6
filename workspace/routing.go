package workspace

import (
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"stowage/farm"
)

// The keys of routing in farm.yaml, by kind.
var (
	routingFileKeys    = []string{"kind"}
	routingHAProxyKeys = []string{"kind", "sockets", "cut_after"}
	routingEtcdKeys    = []string{"kind", "endpoints", "prefix", "account", "ca", "cert", "key", "good_for"}
	routingSQLKeys     = []string{"kind", "address", "database", "account", "good_for"}
	routingExecKeys    = []string{"kind", "program", "timeout", "gated", "whole", "settle"}
)

// routingKinds are the kinds, with the keys of each and those it cannot do
// without.
var routingKinds = []struct {
	kind farm.RoutingKind
	keys *[]string
	need []string
}{
	{farm.RoutingFile, &routingFileKeys, nil},
	{farm.RoutingHAProxy, &routingHAProxyKeys, []string{"sockets"}},
	{farm.RoutingEtcd, &routingEtcdKeys, []string{"endpoints"}},
	{farm.RoutingSQL, &routingSQLKeys, []string{"address", "database"}},
	{farm.RoutingExec, &routingExecKeys, []string{"program"}},
}

// routing reads the key of that name.
func (r *farmReader) routing(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		r.fault(n, "routing must be keys and values, not %s", kindWord(n))
		return
	}
	at := -1
	if kind := value(n, "kind"); kind == nil {
		r.fault(n, "routing has no kind: %s", routingKindList())
	} else {
		text := r.text(kind, func() string { return "kind of routing" })
		at = slices.IndexFunc(routingKinds, func(k struct {
			kind farm.RoutingKind
			keys *[]string
			need []string
		}) bool {
			return string(k.kind) == text
		})
		if at < 0 && !r.bad[kind] {
			r.fault(kind, "kind of routing is %q; known are %s", text, routingKindList())
		}
	}
	if at < 0 {
		return
	}
	k, out := routingKinds[at], farm.Routing{Kind: routingKinds[at].kind}
	where := func() string { return "routing of kind " + string(k.kind) }
	r.fields(n, where, *k.keys, func(key string, v *yaml.Node) bool {
		return slices.Contains(*k.keys, key) && r.routingKey(&out, key, v, func() string { return key + " of routing" })
	})
	for _, key := range k.need {
		if value(n, key) == nil && !r.meant[missing{n, key}] {
			r.fault(n, "%s has no %s", where(), key)
		}
	}
	if out.Cert == "" != (out.Key == "") {
		r.fault(n, "%s has one of cert and key without the other", where())
	}
	r.farm.Routing = out
}

func routingKindList() string {
	var names []string
	for _, k := range routingKinds {
		names = append(names, string(k.kind))
	}
	return strings.Join(names, ", ")
}

func (r *farmReader) routingKey(out *farm.Routing, key string, v *yaml.Node, what func() string) bool {
	switch key {
	case "kind": // read before
	case "sockets":
		out.Sockets = r.words(v, what, "a path or host:port", func(s string) bool { return strings.HasPrefix(s, "/") || isHostPort(s) })
	case "endpoints":
		out.Endpoints = r.words(v, what, "a URL like http://10.0.0.5:2379", func(s string) bool {
			rest, plain := strings.CutPrefix(s, "http://")
			if !plain {
				rest, plain = strings.CutPrefix(s, "https://")
			}
			return plain && isHostPort(rest)
		})
	case "program":
		out.Program = r.words(v, what, "a word", func(s string) bool { return s != "" })
	case "prefix":
		if out.Prefix = r.text(v, what); !r.bad[v] && (!strings.HasPrefix(out.Prefix, "/") || !strings.HasSuffix(out.Prefix, "/")) {
			r.fault(v, "%s must begin and end in /, not be %q", what(), out.Prefix)
		}
	case "address":
		if out.Address = r.text(v, what); !r.bad[v] && !isHostPort(out.Address) {
			r.fault(v, "%s must be host:port, not %q", what(), out.Address)
		}
	case "database":
		out.Database = r.text(v, what)
	case "account":
		out.Account = r.text(v, what)
	case "ca":
		out.CA = r.text(v, what)
	case "cert":
		out.Cert = r.text(v, what)
	case "key":
		out.Key = r.text(v, what)
	case "good_for":
		out.GoodFor = r.span(v, what, time.Millisecond, time.Minute)
	case "cut_after":
		out.CutAfter = r.span(v, what, time.Millisecond, time.Minute)
	case "timeout":
		out.Timeout = r.span(v, what, 10*time.Millisecond, 5*time.Minute)
	case "settle":
		out.Settle = r.span(v, what, 0, 5*time.Minute)
	case "gated":
		out.Gated = r.truth(v, what)
	case "whole":
		out.Whole = r.truth(v, what)
	default:
		return false
	}
	return true
}

// truth is true or false.
func (r *farmReader) truth(v *yaml.Node, what func() string) bool {
	text := r.text(v, what)
	if !r.bad[v] && text != "true" && text != "false" {
		r.fault(v, "%s must be true or false, not %q", what(), text)
	}
	return text == "true"
}

// words is a list with something in it, each entry as it has to be.
func (r *farmReader) words(n *yaml.Node, what func() string, want string, is func(string) bool) (out []string) {
	items := r.items(n, what())
	if n.Kind == yaml.SequenceNode && len(items) == 0 {
		r.fault(n, "%s is empty", what())
	}
	for _, v := range items {
		text := r.text(v, what)
		if !r.bad[v] && !is(text) {
			r.fault(v, "%s must each be %s, not %q", what(), want, text)
		}
		out = append(out, text)
	}
	return out
}

// span is a time with its unit: 200ms, 2s.
func (r *farmReader) span(n *yaml.Node, what func() string, least, most time.Duration) time.Duration {
	text := r.text(n, what)
	if r.bad[n] {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		r.fault(n, "%s must be a time with its unit, from %v to %v, not %q", what(), least, most, text)
		return 0
	}
	return d
}

func isHostPort(s string) bool {
	host, port, err := net.SplitHostPort(s)
	return err == nil && host != "" && port != ""
}

// routing writes the key of that name, if it says anything.
func (w *farmWriter) routing(x farm.Routing) {
	if x.Kind == "" {
		return
	}
	row := flow{}
	text := func(key, v string) {
		if v != "" {
			row.add(key, scalar(v))
		}
	}
	list := func(key string, vs []string) {
		quoted := make([]string, len(vs))
		for i, v := range vs {
			quoted[i] = scalar(v)
		}
		if len(vs) > 0 {
			row.add(key, "["+strings.Join(quoted, ", ")+"]")
		}
	}
	span := func(key string, d time.Duration) {
		if d != 0 {
			text(key, d.String())
		}
	}
	text("kind", string(x.Kind))
	list("sockets", x.Sockets)
	span("cut_after", x.CutAfter)
	list("endpoints", x.Endpoints)
	text("prefix", x.Prefix)
	text("address", x.Address)
	text("database", x.Database)
	text("account", x.Account)
	text("ca", x.CA)
	text("cert", x.Cert)
	text("key", x.Key)
	span("good_for", x.GoodFor)
	list("program", x.Program)
	span("timeout", x.Timeout)
	if x.Gated {
		row.add("gated", fmt.Sprint(x.Gated))
	}
	if x.Whole {
		row.add("whole", fmt.Sprint(x.Whole))
	}
	span("settle", x.Settle)
	w.line("routing: %s", row)
}

func sameRouting(a, b farm.Routing) bool { return reflect.DeepEqual(a, b) }
