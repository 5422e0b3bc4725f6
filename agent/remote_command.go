package agent

import "context"

// MayCommand is nil when the host's owner allows the command of an order. Order and outcome are the commander's words: an agent is handed one
// (Options.Commander), and the program that asks has another.
func (r *Remote) MayCommand(ctx context.Context, order []byte) error {
	_, err := r.call(ctx, request{Call: callMayCommand, Content: order}, nil)
	return err
}

// Command has the agent carry out an order, once, and waits for the command's end.
func (r *Remote) Command(ctx context.Context, order []byte, told func(string)) ([]byte, error) {
	out, err := r.call(ctx, request{Call: callCommand, Content: order}, told)
	return out.Content, err
}
