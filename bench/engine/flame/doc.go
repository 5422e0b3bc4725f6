// Package flame turns samples of a profiler into a flame graph: one SVG file
// that loads nothing, with a title for every frame, that can be searched and
// zoomed.
//
// Parse reads what perf script prints; Graph.WriteSVG draws. Pure: the same
// samples make the same picture.
package flame
