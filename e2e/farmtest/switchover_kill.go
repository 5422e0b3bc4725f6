package farmtest

import (
	"fmt"
	"strings"
)

// Addresses are where farm.yaml has the sides there are.
func (f *LiveFarm) Addresses() string {
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	var out []string
	for _, p := range fm.Pairs {
		for _, side := range p.SideNames() {
			out = append(out, fmt.Sprintf("%s/%s@%s", p.Name, side, fm.Address(p.Sides[side])))
		}
	}
	return strings.Join(out, " ")
}
