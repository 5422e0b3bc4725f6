package backup

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
)

// mayBeLogical refuses what a logical backup cannot do.
func (o restoreOrder) mayBeLogical(w RestoreWish) error {
	b := o.last()
	bad := func(hint, format string, args ...any) error {
		return &farm.Error{Op: "restore", Subject: b.ID, Err: fmt.Errorf("%w: %w", farm.ErrInput, fmt.Errorf(format, args...)), Hint: hint}
	}
	switch {
	case b.IsPhysical():
		return nil
	case !w.Until.isBackup() && !w.Verify:
		return bad("name a full or incremental one: stowage backup list", "a logical backup can be restored only to the moment at which it was taken")
	case w.Side != "":
		return bad("name a full or incremental one: stowage backup list", "it is a logical backup: it has shards, but not all that a side needs")
	}
	return nil
}

// load makes an empty server and has the dump loaded into it. Its accounts come last, so that nobody else is in before.
func (r *restoring) load(ctx context.Context) error {
	i, b := r.order.Instance, r.order.last()
	founder, ok := r.host.(host.Founder)
	if !ok {
		return r.refuse("load", fmt.Errorf("host %s cannot set up an instance", r.order.On), "is its agent of this version? stowage agent status")
	}
	as := host.Login{User: replayer, Password: rand.Text(), Address: i.Dial()}
	own := r.act.Admin.At(i.Dial())
	setup := mysql.AllAllowed(own.User, own.Password) + mysql.AllAllowed(as.User, as.Password)
	if err := founder.Found(ctx, i, []byte(setup)); err != nil {
		return err
	}
	if err := r.start(ctx); err != nil {
		return err
	}
	is, err := r.server.Flavor(ctx)
	if err != nil {
		return err
	}
	if of := flavorOf(b); is.Vendor != of.Vendor {
		return r.refuse("load", fmt.Errorf("host %s has %s, and the backup is of %s", r.order.On, is, of), "choose a host with servers of "+of.Vendor+": --to HOST")
	}
	size, err := r.stream(ctx, b, host.Destination{Instance: i, Load: &as}, "loading ")
	if err != nil {
		return err
	}
	r.memory.Bytes = size
	return nil
}

// filter lets an instance of a logical backup that is compared with the live server follow it in the shards that it has, and nowhere else.
func (o restoreOrder) filter() []byte {
	if o.last().IsPhysical() || o.Live == "" {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n[%s]\n", host.ServerGroup(o.last().Options))
	for _, s := range o.last().Shards {
		fmt.Fprintf(&b, "replicate_wild_do_table=%s.%%\n", strings.NewReplacer(`\`, `\\`, "_", `\_`, "%", `\%`).Replace(string(s)))
	}
	return []byte(b.String())
}
