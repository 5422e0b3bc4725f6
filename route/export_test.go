package route

// StopAt lets tests of package route_test kill a change at named moments.
func (h *HAProxy) StopAt(stop func(point string) error) { h.stop = stop }

// Path is where the notes stand.
func (n *Notes) Path() string { return n.path }
