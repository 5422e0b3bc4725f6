package route

// StopAt lets tests of package route_test kill a change at named moments.
func (h *HAProxy) StopAt(stop func(point string) error) { h.stop = stop }
