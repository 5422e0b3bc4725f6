package sheet

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"stowage/bench/engine/flame"
	"stowage/bench/result"
	"stowage/internal/table"
)

// KindWhy tells the document from the others.
const KindWhy = "engine-why"

// Why says what the processors did in transactions of some cells, and what its threads waited for.
type Why struct {
	FormatVersion int                `json:"format_version"`
	Kind          string             `json:"kind"`
	Server        string             `json:"server"`
	Settings      Settings           `json:"settings"`
	Environment   result.Environment `json:"environment"`
	Rows          []*WhyRow          `json:"rows"`
	// Unmeasured is what could not be measured, with the reason and how to allow it.
	Unmeasured []Gap    `json:"unmeasured"`
	Labels     []string `json:"labels,omitempty"`
}

// Gap is something that could not be measured.
type Gap struct {
	What string `json:"what"`
	Why  string `json:"why"`
	How  string `json:"how"` // to allow it
}

// WhyRow is one cell under one load.
type WhyRow struct {
	ID         string     `json:"id"`
	Cell       string     `json:"cell"`
	Load       string     `json:"load"`
	Durability Durability `json:"durability"`
	Ratio      float64    `json:"data_cache_ratio"`
	// TPS and CPU are of a run that nothing looked at: transactions a second, and microseconds of processor time of the server for each.
	TPS  float64 `json:"tps"`
	CPU  float64 `json:"cpu_us_per_tx"`
	CPUs float64 `json:"cpus"` // that the server used, on average
	User float64 `json:"user"` // part of its processor time outside of the kernel
	// Queued is how long its threads could have run and had no processor, in microseconds for each transaction.
	Queued float64 `json:"cpu_wait_us_per_tx"`
	// Samples, Modules, Functions and Unnamed are the profiler's; empty where it could not be had.
	Samples   int           `json:"samples,omitempty"`
	Unnamed   float64       `json:"unnamed,omitempty"` // part of the samples in functions without a symbol
	Modules   []flame.Share `json:"modules,omitempty"`
	Functions []flame.Share `json:"functions,omitempty"`
	// Calls are system calls by transaction, the most time first: futex is what waits for a lock or for work.
	Calls []Call `json:"calls,omitempty"`
	// Waits are the server's own: locks between its threads, by the instruments of performance_schema.
	Waits []Wait `json:"waits,omitempty"`
	// Flame is the file with the flame graph, where one was written.
	Flame string `json:"flame,omitempty"`
}

// Call is one system call of the server's threads.
type Call struct {
	Name   string  `json:"name"`
	PerTx  float64 `json:"per_tx"`
	Micros float64 `json:"us_per_tx"` // in the call, waiting or working
}

// Wait is one lock of the server's.
type Wait struct {
	Name   string  `json:"name"`
	PerTx  float64 `json:"per_tx"`    // taken, waited for or not
	Micros float64 `json:"us_per_tx"` // until it was had
}

// verdict is in a sentence whether the processors are what bounds it.
func (r *WhyRow) verdict(cpus int) string {
	switch used := r.CPUs / max(float64(cpus), 1); {
	case used > 0.8:
		return fmt.Sprintf("bound by the processors: the server alone used %.1f of %d", r.CPUs, cpus)
	case r.Queued > r.CPU/2:
		return fmt.Sprintf("its threads waited %s us in a transaction for a processor that others had: the server used %.1f of %d", result.Short(r.Queued), r.CPUs, cpus)
	case r.CPUs > 0.9 && cpus > 1:
		return fmt.Sprintf("the server used %.1f of %d processors, clients and others want some, too", r.CPUs, cpus)
	}
	return fmt.Sprintf("not bound by the processors: the server used %.1f of %d; it waited for the rest of the time", r.CPUs, cpus)
}

// mostLines is how many functions, calls and waits the text has; --json has all.
const mostLines = 8

// WriteWhy is the document for people.
func WriteWhy(w io.Writer, d *Why) error {
	e := d.Environment
	fmt.Fprintf(w, "%s on %s, %s: what the processors do in a transaction, and what threads wait for\n\n", d.Server, e.Directory, e.Filesystem)
	t := table.Figures(w, "row\ttx/s\tCPU us/tx\tCPUs\toutside kernel\twaited for CPU us/tx\tfutex/tx\tfutex us/tx\tdata/cache\tdurability")
	for _, r := range d.Rows {
		futex, waited := "-", "-"
		if i := slices.IndexFunc(r.Calls, func(c Call) bool { return c.Name == "futex" }); i >= 0 {
			futex, waited = result.Short(r.Calls[i].PerTx), result.Short(r.Calls[i].Micros)
		}
		t.Row("%s\t%s\t%s\t%s\t%.0f%%\t%s\t%s\t%s\t%s\t%s", r.ID, result.Short(r.TPS), result.Short(r.CPU), result.Short(r.CPUs), 100*r.User, result.Short(r.Queued), futex, waited, result.Short(r.Ratio), r.Durability)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range d.Rows {
		fmt.Fprintf(w, "\n%s: %s.\n", r.ID, r.verdict(e.CPUs))
		if r.Samples > 0 {
			var modules []string
			for _, m := range r.Modules[:min(len(r.Modules), 5)] {
				modules = append(modules, fmt.Sprintf("%s %.0f %%", m.Name, 100*m.Part))
			}
			fmt.Fprintf(w, "  processor time, of %d samples: %s\n", r.Samples, strings.Join(modules, ", "))
		}
		for _, f := range r.Functions[:min(len(r.Functions), mostLines)] {
			fmt.Fprintf(w, "  %5.1f %%  %s (%s)\n", 100*f.Part, f.Name, f.Module)
		}
		for i, c := range r.Calls[:min(len(r.Calls), mostLines)] {
			if i == 0 {
				fmt.Fprintln(w, "  system calls by transaction (threads that wait for work are in it):")
			}
			fmt.Fprintf(w, "  %9s us in %s calls  %s\n", result.Short(c.Micros), result.Short(c.PerTx), c.Name)
		}
		for i, x := range r.Waits[:min(len(r.Waits), mostLines)] {
			if i == 0 {
				fmt.Fprintln(w, "  locks of the server by transaction (performance_schema):")
			}
			fmt.Fprintf(w, "  %9s us, taken %s times  %s\n", result.Short(x.Micros), result.Short(x.PerTx), x.Name)
		}
		if r.Flame != "" {
			fmt.Fprintf(w, "  flame graph: %s\n", r.Flame)
		}
	}
	fmt.Fprintln(w)
	for _, g := range d.Unmeasured {
		fmt.Fprintf(w, "Not measured: %s: %s. To allow it: %s.\n", g.What, g.Why, g.How)
	}
	for _, l := range d.Labels {
		fmt.Fprintf(w, "Note: %s.\n", l)
	}
	return nil
}
