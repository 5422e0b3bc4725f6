package probe

import (
	"encoding/json"
	"strings"

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
		m, err := ParseMeasured(text)
		if err != nil {
			p.unread("measured/"+file, err.Error())
			continue
		}
		if p.facts.Measured == nil {
			p.facts.Measured = map[string]tune.Measured{}
		}
		p.facts.Measured[disk] = m
	}
}

// ParseMeasured reads the steps of a storage benchmark: an object with steps,
// each with id, iops, mbps and lat_us.
func ParseMeasured(text string) (tune.Measured, error) {
	var answer struct {
		Steps []struct {
			ID string `json:"id"`
			tune.Step
		} `json:"steps"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return nil, err
	}
	out := tune.Measured{}
	for _, s := range answer.Steps {
		out[s.ID] = s.Step
	}
	return out, nil
}
