package bench

import (
	"context"
	"os/exec"
	"time"

	"stowage/internal/nested"
)

// thermal asks the device how often it was too hot; at is 0 before and 1 after. Devices and machines that do not say are
// most of them: nothing is written then.
func (r *runner) thermal(ctx context.Context, at int) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	name := r.device
	if r.bed != nil {
		name = r.bed.Devices[0]
	}
	out, _ := exec.CommandContext(ctx, "smartctl", "-j", "-a", "/dev/"+name).Output() // its exit code tells of the disk's health, and it may not be there
	var said struct {
		Health map[string]any `json:"nvme_smart_health_information_log"`
	}
	if nested.Unmarshal(out, &said) != nil {
		return
	}
	for _, name := range []string{"warning_temp_time", "critical_comp_time"} {
		if n, ok := said.Health[name].(float64); ok {
			pair := r.result.Environment.Device.Thermal[name]
			pair[at] = int64(n)
			if at == 0 {
				pair[1] = pair[0]
			}
			r.result.Environment.Device.Thermal[name] = pair
		}
	}
}
