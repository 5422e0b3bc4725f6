package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"stowage/farm"
	"stowage/internal/nested"
	"stowage/vault"
)

// vaultCall is what is asked of a vault. Streams do not go this way: they are copies.
type vaultCall struct {
	Op    string            `json:"op"`
	Place vault.Place       `json:"place"`
	Set   string            `json:"set,omitempty"` // a prefix, for opSets
	Made  vault.Manifest    `json:"made,omitzero"`
	Texts map[string]string `json:"texts,omitempty"`
	// Partly asks opSets for what can be read when another set cannot. An agent that does not know it answers with the error alone.
	Partly bool `json:"partly,omitempty"`
}

const (
	opSeal   = "seal"
	opDrop   = "drop"
	opSets   = "sets"
	opCheck  = "check"
	opRemove = "remove"
	opFree   = "free"
)

// changes reports whether a call does more than look.
func (v vaultCall) changes() bool {
	return v.Op == opSeal || v.Op == opDrop || v.Op == opRemove || v.Op == opPrune
}

// vaultAnswer is what comes back.
type vaultAnswer struct {
	Sets []vault.Manifest `json:"sets,omitempty"`
	Free int64            `json:"free,omitempty"`
	// Failed is why others were not read, where the caller has asked for what can be read.
	Failed *wireError `json:"failed,omitempty"`
}

// vaultOp is what a call asks of a vault; the zero value for every other call, and for one that cannot be read.
func vaultOp(q request) (v vaultCall) {
	if q.Call == callVault && nested.Unmarshal(q.Content, &v) != nil {
		return vaultCall{}
	}
	return v
}

// vault carries such a call out.
func (a *Agent) vault(ctx context.Context, q request) ([]byte, error) {
	o := vaultOp(q)
	v := a.o.Machine.Vault(o.Place)
	var out vaultAnswer
	var err error
	switch o.Op {
	case opSeal:
		err = v.Seal(ctx, o.Made, o.Texts)
	case opDrop:
		err = v.Drop(ctx, o.Set)
	case opSets:
		out.Sets, err = v.Sets(ctx, o.Set)
		if o.Partly && len(out.Sets) > 0 {
			out.Failed, err = toWire(err), nil
		}
	case opCheck:
		err = v.Check(ctx, o.Set)
	case opRemove:
		err = v.Remove(ctx, o.Set)
	case opFree:
		out.Free, err = v.Free(ctx)
	case opPrune:
		if p, ok := v.(vault.Pruner); ok {
			err = p.Prune(ctx)
		}
	default:
		err = fmt.Errorf("%w: this agent, %s, cannot do %q in a vault", farm.ErrRefused, a.o.Version, o.Op)
	}
	return encode(out), err
}

// Vault implements host.Host: streams go to it and from it by host.Copy.
func (r *Remote) Vault(p vault.Place) vault.Vault { return remoteVault{r, p} }

// remoteVault is a vault of another host.
type remoteVault struct {
	on *Remote
	at vault.Place
}

var (
	_ vault.Vault  = remoteVault{}
	_ vault.Pruner = remoteVault{}
)

func (v remoteVault) ask(ctx context.Context, o vaultCall) (out vaultAnswer, err error) {
	o.Place = v.at
	raw, err := json.Marshal(o)
	if err != nil {
		return out, err
	}
	said, err := v.on.call(ctx, request{Call: callVault, Content: raw}, nil)
	if err == nil {
		err = nested.Unmarshal(said.Content, &out)
	}
	return out, err
}

// Put implements vault.Vault by refusing: the bytes of a copy never pass through this program.
func (v remoteVault) Put(context.Context, string, string, func(io.Writer) error) (vault.Part, error) {
	return vault.Part{}, v.on.direct("keep copy")
}

// Get implements vault.Vault by refusing, as Put does.
func (v remoteVault) Get(context.Context, string, string, io.Writer) error {
	return v.on.direct("read copy")
}

// Seal implements vault.Vault.
func (v remoteVault) Seal(ctx context.Context, m vault.Manifest, texts map[string]string) error {
	_, err := v.ask(ctx, vaultCall{Op: opSeal, Set: m.Set, Made: m, Texts: texts})
	return err
}

// Drop implements vault.Vault.
func (v remoteVault) Drop(ctx context.Context, set string) error {
	_, err := v.ask(ctx, vaultCall{Op: opDrop, Set: set})
	return err
}

// Sets implements vault.Vault.
func (v remoteVault) Sets(ctx context.Context, prefix string) ([]vault.Manifest, error) {
	out, err := v.ask(ctx, vaultCall{Op: opSets, Set: prefix, Partly: true})
	if err == nil {
		err = out.Failed.fromWire(v.on.name)
	}
	return out.Sets, err
}

// Check implements vault.Vault.
func (v remoteVault) Check(ctx context.Context, set string) error {
	_, err := v.ask(ctx, vaultCall{Op: opCheck, Set: set})
	return err
}

// Remove implements vault.Vault.
func (v remoteVault) Remove(ctx context.Context, set string) error {
	_, err := v.ask(ctx, vaultCall{Op: opRemove, Set: set})
	return err
}

// Prune implements vault.Pruner.
func (v remoteVault) Prune(ctx context.Context) error {
	_, err := v.ask(ctx, vaultCall{Op: opPrune})
	return err
}

// Free implements vault.Vault.
func (v remoteVault) Free(ctx context.Context) (int64, error) {
	out, err := v.ask(ctx, vaultCall{Op: opFree})
	return out.Free, err
}
