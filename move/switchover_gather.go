package move

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stowage/farm"
	"stowage/mysql"
)

// gather points whoever replicates from the old instance at the new one, while
// the old one still serves: so they have nothing to do in the pause. It writes
// down, before anything depends on it, which accounts the cutover keeps out.
func (s *succession) gather(ctx context.Context) error {
	p, err := s.Leaves.Privileged(ctx, s.mover.Replication.User)
	if err != nil {
		return err
	}
	if s.movesPrimary() {
		s.memory.Bar = p.Bar
	}
	others, strangers, err := s.others(ctx)
	if err != nil {
		return err
	}
	if len(strangers) > 0 {
		return &farm.Error{Op: "gather", Subject: string(s.old.Name), Err: fmt.Errorf("%w: %s", farm.ErrRefused, strangers[0]),
			Hint: "set report_host and report_port on it, or end it for the time of the move"}
	}
	s.memory.Others = others
	if err := s.rejoin(ctx); err != nil { // it may have been restarted since it was compared
		return err
	}
	for _, o := range others {
		if err := s.point(ctx, o, s.Returns); err != nil {
			return err
		}
	}
	return nil
}

// scatter points them back. The old instance has everything again: it has
// taken the writes all the time, or the cutover was undone before.
func (s *succession) scatter(ctx context.Context) error {
	others := s.memory.Others
	if len(others) == 0 { // the step may have ended before it could say
		var err error
		if others, err = s.gathered(ctx); err != nil {
			return err
		}
	}
	for _, o := range others {
		if err := s.point(ctx, o, s.Leaves); err != nil {
			return err
		}
	}
	return nil
}

// gathered are those that follow the new instance now, but for the old one.
func (s *succession) gathered(ctx context.Context) ([]otherReplica, error) {
	pid, err := s.freshHost.Running(ctx, s.fresh)
	if err != nil || pid == 0 {
		return nil, err
	}
	readers, _, err := s.Returns.Readers(ctx)
	if err != nil {
		return nil, err
	}
	var out []otherReplica
	for _, r := range readers {
		if r.Address != "" && r.Address != s.Leaves.Address() {
			out = append(out, otherReplica{farm.InstanceName(fmt.Sprintf("server-%d", r.ServerID)), r.Address})
		}
	}
	return out, nil
}

// others are the servers that replicate from the old instance, and those of
// the farm file that are to; strangers are readers of its binary log that
// nobody can point elsewhere.
func (s *succession) others(ctx context.Context) (others []otherReplica, strangers []string, err error) {
	readers, unregistered, err := s.Leaves.Readers(ctx)
	if err != nil {
		return nil, nil, err
	}
	others = slices.Clone(s.order.Others)
	for _, r := range readers {
		known := func(o otherReplica) bool { return o.Address == r.Address }
		switch {
		case r.ServerID == s.order.Move.ServerID || r.Address == s.Returns.Address() || slices.ContainsFunc(others, known):
		case r.Address == "":
			strangers = append(strangers, fmt.Sprintf("server_id %d replicates from it and does not say where it is (report_host)", r.ServerID))
		default:
			others = append(others, otherReplica{farm.InstanceName(fmt.Sprintf("server-%d", r.ServerID)), r.Address})
		}
	}
	if unregistered > 0 {
		strangers = append(strangers, fmt.Sprintf("%d readers of its binary log are no replicas (a tool that copies it?)", unregistered))
	}
	return others, strangers, nil
}

// point makes one of them replicate from source. As in repoint: a source that
// lacks something the replica has, or that begins later than the replica
// stands, would answer with error 1236, which is never retried.
func (s *succession) point(ctx context.Context, o otherReplica, source *mysql.Server) error {
	server := mysql.Open(o.Name, o.Address, s.mover.Admin, s.mover.Log)
	defer server.Close()
	now, err := server.Replication(ctx)
	if err != nil {
		return err
	}
	if now.Follows(source.Address()) && now.Running() {
		return nil
	}
	begins, err := mysql.ParsePosition(s.replacement.memory.Position)
	if err != nil {
		return err
	}
	// While it follows what it follows: it must be beyond where the new binary
	// log begins.
	if now.Running() {
		if err := server.WaitFor(ctx, begins, s.Settings.CatchUp); err != nil {
			return err
		}
	}
	s.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("pointing %s at %s", o.Name, source.Name())})
	if now.Configured {
		if err := server.StopReplicating(ctx); err != nil {
			return err
		}
	}
	applied, err := server.AppliedPosition(ctx)
	if err != nil {
		return err
	}
	if err := source.WaitFor(ctx, applied, s.Settings.CatchUp); err != nil {
		// Left as it is it would get nothing from anybody.
		return fmt.Errorf("%w (it continues with its old source: %v)", err, s.goOn(ctx, server, now))
	}
	return server.Follow(ctx, source.Address(), s.mover.Replication, 30*time.Second)
}

// goOn lets a replica that was stopped follow the source it had.
func (s *succession) goOn(ctx context.Context, server *mysql.Server, was mysql.Replication) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	if !was.Configured {
		return nil
	}
	source := s.Leaves.Address()
	if was.Follows(s.Returns.Address()) {
		source = s.Returns.Address()
	}
	return server.Follow(ctx, source, s.mover.Replication, 10*time.Second)
}
