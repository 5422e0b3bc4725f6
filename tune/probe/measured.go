package probe

import (
	"errors"
	"strings"

	"stowage/internal/nested"
	"stowage/tune"
)

// measured reads measured/DISK.json of a recording.
func (p *prober) measured() {
	for _, file := range p.list("/measured") {
		disk, ok := strings.CutSuffix(file, ".json")
		if !ok {
			continue
		}
		text, _ := p.read("/measured/" + file)
		m, _, err := ParseMeasured(text)
		if err != nil {
			p.unread("measured/"+file, err.Error())
			continue
		}
		p.facts.Measure(disk, m)
	}
}

// ParseMeasured reads the steps of a storage benchmark and the name of the disk
// it was about, "" when it does not say: an object with steps, each with id,
// iops, mbps and lat_us, and environment.device.name. Steps that are called
// invalid are left out; a whole that calls itself so is an error.
func ParseMeasured(text string) (m tune.Measured, disk string, err error) {
	var answer struct {
		Valid       *bool `json:"valid"`
		Environment struct {
			Device struct {
				Name string `json:"name"`
			} `json:"device"`
		} `json:"environment"`
		Steps []struct {
			ID    string `json:"id"`
			Valid *bool  `json:"valid"`
			tune.Step
		} `json:"steps"`
	}
	if err := nested.Unmarshal([]byte(text), &answer); err != nil {
		return nil, "", err
	}
	if answer.Valid != nil && !*answer.Valid {
		return nil, "", errors.New("the benchmark calls its own result invalid")
	}
	m = tune.Measured{}
	for _, s := range answer.Steps {
		if s.Valid == nil || *s.Valid {
			m[s.ID] = s.Step
		}
	}
	return m, answer.Environment.Device.Name, nil
}
