package agent

import "context"

// Look has the agent read counters or settings of its machine. Question and answer are the words of who was handed to it
// (Options.Looker); an agent without one, or of an older Stowage, refuses.
func (r *Remote) Look(ctx context.Context, question []byte) ([]byte, error) {
	out, err := r.call(ctx, request{Call: callLook, Content: question}, nil)
	return out.Content, err
}
