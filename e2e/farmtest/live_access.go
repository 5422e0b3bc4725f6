package farmtest

import (
	"context"
	"path/filepath"

	"stowage/act"
	"stowage/demo/load"
	"stowage/farm"
	"stowage/move"
	"stowage/mysql"
	"stowage/record"
	"stowage/store"
	"stowage/tune/prove"
	"stowage/workspace"
)

// FarmAccess is a demo's workspace, its farm, and the account of its clients.
func FarmAccess(dir string) (*workspace.Workspace, *farm.Farm, mysql.Account, error) {
	ws, err := workspace.Open(dir)
	if err != nil {
		return nil, nil, mysql.Account{}, err
	}
	fm, err := ws.Farm()
	if err != nil {
		return nil, nil, mysql.Account{}, err
	}
	client, err := mysql.ReadAccount(ws.Path(fm.Accounts), "client")
	return ws, fm, client, err
}

// ledgerDir is where clients write down what they were told.
func ledgerDir(dir string) string { return filepath.Join(dir, "load") }

func shardsByPair(f *farm.Farm) map[farm.PairName][]farm.ShardName {
	out := map[farm.PairName][]farm.ShardName{}
	for _, p := range f.Pairs {
		for _, s := range p.Shards {
			out[p.Name] = append(out[p.Name], s.Name)
		}
	}
	return out
}

// verdict compares the ledger with the servers.
func verdict(ctx context.Context, dir string) (load.Verdict, error) {
	ws, fm, client, err := FarmAccess(dir)
	if err != nil {
		return load.Verdict{}, err
	}
	addresses := map[farm.PairName]map[farm.SideName]string{}
	for _, p := range fm.Pairs {
		addresses[p.Name] = map[farm.SideName]string{}
		for side, s := range p.Sides {
			addresses[p.Name][side] = fm.Address(s)
		}
	}
	return load.Verify(ctx, load.VerifyOptions{Dir: ledgerDir(ws.Dir), Addresses: addresses, Shards: shardsByPair(fm), User: client.User, Password: client.Password})
}

// keptIn is the store of a workspace.
func keptIn(dir string) (*store.Store, error) {
	ws, err := workspace.Open(dir)
	if err != nil {
		return nil, err
	}
	return store.Open(filepath.Join(ws.State(), "stowage.db"))
}

// The answers of verbs with --json, as a program of somebody else's reads them.

type RecordAnswer struct {
	Save      string          `json:"save"`
	Events    uint64          `json:"events"`
	Instances []record.Result `json:"instances"`
}

type StatusAnswer struct {
	State       string     `json:"state"`
	SidesDone   int        `json:"sides_done"`
	Sides       []sideLine `json:"sides"`
	ClosedGates []struct {
		Pair farm.PairName `json:"pair"`
		Side farm.SideName `json:"side"`
	} `json:"closed_gates"`
	HeldShards []farm.ShardName `json:"held_shards"`
	Steering   *act.Steering    `json:"steering"`
	Waiting    []act.Approval   `json:"waiting"`
	NextSteps  []string         `json:"next_steps"`
}

type sideLine struct {
	Pair farm.PairName `json:"pair"`
	Side farm.SideName `json:"side"`
	Step string        `json:"step"`
	Done bool          `json:"done"`
	Text string        `json:"text"`
}

type ShardPreview struct {
	State    string          `json:"state"`
	Ways     []move.ShardWay `json:"shards"`
	Findings []farm.Finding  `json:"findings"`
}

type DryAnswer struct {
	Ready    bool           `json:"ready"`
	Blockers int            `json:"blockers"`
	Warnings int            `json:"warnings"`
	Findings []farm.Finding `json:"findings"`
	Refused  string         `json:"refused"`
}

type ProofAnswer struct {
	Proofs []prove.Proof `json:"proofs"`
}
