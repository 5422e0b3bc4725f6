package agent

import (
	"context"

	"stowage/farm"
	"stowage/host"
)

// Record has the agent carry out an order to record an instance, and waits for
// the end of the window. Order and answer are the recorder's words: an agent
// is handed one (Options.Recorder), and the program that asks has another.
func (r *Remote) Record(ctx context.Context, n farm.InstanceName, order []byte, told func(string)) ([]byte, error) {
	out, err := r.call(ctx, request{Call: callRecord, Instance: host.Instance{Name: n}, Content: order}, told)
	return out.Content, err
}

// EndRecording ends that window early, or puts back what is left of it.
func (r *Remote) EndRecording(ctx context.Context, n farm.InstanceName, order []byte) error {
	_, err := r.call(ctx, request{Call: callEndRecording, Instance: host.Instance{Name: n}, Content: order}, nil)
	return err
}

// ReadRecording reads a part of the digest of a recording that has ended.
func (r *Remote) ReadRecording(ctx context.Context, n farm.InstanceName, id string, offset int64) ([]byte, error) {
	out, err := r.call(ctx, request{Call: callReadRecording, Instance: host.Instance{Name: n}, Recording: id, Offset: offset}, nil)
	return out.Content, err
}

// ForgetRecording says that what came of a recording is kept elsewhere.
func (r *Remote) ForgetRecording(ctx context.Context, n farm.InstanceName, id string) error {
	_, err := r.call(ctx, request{Call: callForgetRecording, Instance: host.Instance{Name: n}, Recording: id}, nil)
	return err
}
