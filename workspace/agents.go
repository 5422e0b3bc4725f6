package workspace

import (
	"go.yaml.in/yaml/v4"

	"stowage/farm"
)

// agentKeys are the keys of agents in farm.yaml.
var agentKeys = []string{"engine", "certificates", "hosts"}

// agents reads the key of that name.
func (r *farmReader) agents(n *yaml.Node) {
	where := func() string { return "agents" }
	out := &r.farm.Agents
	r.fields(n, where, agentKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of agents" }
		switch key {
		case "engine":
			out.Engine = r.text(v, what)
		case "certificates":
			out.Certificates = r.text(v, what)
		case "hosts":
			for _, item := range r.items(v, what()) {
				out.Hosts = append(out.Hosts, farm.HostName(r.text(item, what)))
			}
		default:
			return false
		}
		return true
	})
	if !out.Used() && !r.bad[n] && value(n, "engine") == nil {
		r.fault(n, "agents has no engine: the host:port where the engine listens and agents dial it")
	}
}

func (w *farmWriter) agents(a farm.Agents) {
	if !a.Used() {
		return
	}
	row := flow{}
	row.add("engine", scalar(a.Engine))
	if a.Certificates != "" {
		row.add("certificates", scalar(a.Certificates))
	}
	if len(a.Hosts) > 0 {
		var list string
		for i, h := range a.Hosts {
			if i > 0 {
				list += ", "
			}
			list += scalar(string(h))
		}
		row.add("hosts", "["+list+"]")
	}
	w.line("agents: %s", row)
}
