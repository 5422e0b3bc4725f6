// Package metrics says what Stowage knows of a farm in the form that Prometheus reads.
//
// It is pure: a Family is a name, a help text, a type and samples, and Write prints families in the text format. Names follow the conventions of
// Prometheus: base units, _total for what only grows, no timestamps, because a textfile with one is dropped as a whole by node_exporter.
// What is not known has no sample.
package metrics
