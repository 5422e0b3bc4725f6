package workspace

import "stowage/farm"

// FarmPlaces is Farm, and the line of what a path such as pairs[3].sides.B
// names in the file.
func (w *Workspace) FarmPlaces() (*farm.Farm, func(path string) int, error) {
	src, err := read(w.Path(farmFile))
	if err != nil {
		return nil, nil, &farm.Error{Op: "read", Subject: farmFile, Err: err}
	}
	f, r, err := parseFarm(farmFile, src)
	if err != nil {
		return nil, nil, err
	}
	return f, func(path string) int {
		_, line, _ := follow(r.root, path)
		return line
	}, w.trustNamed(f)
}
