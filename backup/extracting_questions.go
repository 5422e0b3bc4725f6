package backup

import (
	"context"
	"fmt"

	"stowage/copier"
	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// askInto asks whether the pair can take the database: hours may pass until it is copied.
func askInto(ctx context.Context, r *restoring) (out []farm.Finding, err error) {
	x := r.order.Extract
	if x == nil {
		return nil, nil
	}
	block := func(on *mysql.Server, remedy, format string, args ...any) {
		out = append(out, farm.Finding{Severity: farm.Blocker, Subject: string(on.Name()), Text: fmt.Sprintf(format, args...), Remedy: remedy})
	}
	into := r.ends[0]
	for _, server := range r.ends {
		flavor, err := server.Flavor(ctx)
		if err != nil {
			block(server, "wait for it, or choose another pair: --into PAIR", "it does not answer: %v", err)
			return out, nil
		}
		if of := flavorOf(r.order.last()); flavor.Vendor != of.Vendor {
			block(server, "choose a pair of "+of.Vendor+": --into PAIR", "it is %s, and the backup is of %s", flavor, of)
			return out, nil
		}
		there, err := rows.SchemaOptionsOf(ctx, server, x.As)
		if err != nil {
			return out, err
		}
		if there.Exists && !there.IsOf(rows.Marks{Schema: x.As, Job: r.Run}) {
			block(server, "choose another name: --as NAME", "database %s exists there; Stowage does not overwrite it", x.As)
		}
	}
	lacking, err := into.LackingForShards(ctx)
	if err != nil {
		return out, err
	}
	if !lacking.IsNone() {
		block(into, lacking.Remedy(), "%s", lacking.Text())
	}
	closed, err := into.IsReadOnly(ctx)
	if err != nil {
		return out, err
	}
	if closed {
		block(into, "name the side that serves: --into PAIR/SIDE", "it is read-only")
	}
	for n, other := range r.ends[1:] {
		now, err := other.Replication(ctx)
		switch {
		case err != nil:
			return out, err
		case now.Ailing() != nil:
			block(other, "repair its replication first", "%v", now.Ailing())
		case n == 0 && !now.Follows(into.Address()): // a third one may follow the second
			block(other, "repair the pair, or name its other side: --into PAIR/SIDE", "it does not replicate from %s, so it would not get the rows", into.Name())
		}
	}
	return out, nil
}

// askTables says what of the shard could not be copied if it had been then what it is now. It is known only when the backup is unpacked, which may take hours.
func askTables(ctx context.Context, r *restoring) ([]farm.Finding, error) {
	x := r.order.Extract
	if x == nil {
		return nil, nil
	}
	found, err := copier.Apart{Tables: x.Tables}.Foresight(ctx, r.ends[0], x.Schema)
	for n := range found {
		found[n].Severity, found[n].Text = farm.Warning, "the shard as it is today could not be copied: "+found[n].Text
	}
	return found, err
}

// askIntoRoom asks whether both sides have room, by what is known before the backup is unpacked; the copy asks again.
func askIntoRoom(ctx context.Context, r *restoring) ([]farm.Finding, error) {
	if r.order.Extract == nil {
		return nil, nil
	}
	return r.lackOfRoom(ctx, r.order.Extract.Bytes)
}

// spare is what is left free beside the rows and the binary log that carries them to the other side.
const spare = 64 << 20

// lackOfRoom is what the sides of the pair lack for so many bytes of rows, once for the tables and once for the binary log.
func (r *restoring) lackOfRoom(ctx context.Context, bytes int64) (out []farm.Finding, err error) {
	need := 2*bytes + spare
	for _, e := range r.order.Extract.Ends {
		h, err := r.act.Host(e.On)
		if err != nil {
			return out, err
		}
		free, err := h.FreeBytes(ctx, e.Datadir)
		if err != nil {
			return out, err
		}
		if free < need {
			out = append(out, farm.Finding{Check: "restore-into-room", Severity: farm.Blocker, Subject: string(e.Instance),
				Text: fmt.Sprintf("%d MB are free on host %s; %s needs %d MB", free>>20, e.On, r.order.Extract.As, need>>20), Remedy: "make room, or choose another pair: --into PAIR"})
		}
	}
	return out, nil
}
