package farmtest

import (
	"stowage/farm"
)

// Net001 is the instance of a side of the only pair.
func Net001(side farm.SideName) farm.InstanceName {
	return farm.Pair{Name: "net001"}.Instance(side)
}
