package session

import (
	"path/filepath"

	"stowage/farm"
	"stowage/host"
	"stowage/workspace"
)

// InstanceAt is an instance of farm.yaml as its host knows it. Paths of the workspace become paths of this machine; an option file that farm.yaml does
// not name is my.cnf beside the data directory.
func InstanceAt(ws *workspace.Workspace, name farm.InstanceName, address string, at farm.Side) host.Instance {
	config := at.Config
	if config == "" {
		config = filepath.Join(filepath.Dir(at.Datadir), "my.cnf")
	}
	return host.Instance{Name: name, Address: address, Port: at.Port, Datadir: ws.Path(at.Datadir), Config: ws.Path(config), GroupSuffix: at.GroupSuffix}
}
