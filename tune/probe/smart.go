package probe

import (
	"strings"

	"stowage/tune"
)

// health asks every real disk about itself. A disk of a hypervisor's has
// nothing to say.
func (p *prober) health() {
	for i := range p.facts.Disks {
		d := &p.facts.Disks[i]
		if d.Kind != tune.Real || strings.HasPrefix(d.Name, "vd") || strings.HasPrefix(d.Name, "xvd") {
			continue
		}
		p.smartctl(d)
		if strings.HasPrefix(d.Name, "nvme") {
			p.nvme(d)
		} else if d.WriteCache == nil {
			if text, ok := p.command("hdparm-"+d.Name+".txt", []string{"hdparm", "-W", "/dev/" + d.Name}); ok {
				d.WriteCache = parseHdparm(text)
			}
		}
	}
}

func (p *prober) smartctl(d *tune.Disk) {
	text, ok := p.command("smartctl-"+d.Name+".json", []string{"smartctl", "-j", "-x", "/dev/" + d.Name})
	if !ok {
		return
	}
	answer, err := parseObject(text)
	if err != nil {
		p.unread("smartctl "+d.Name, "its answer is no JSON; smartctl before 7.0 has none")
		return
	}
	h, cache, complaint := parseSmartctl(answer, strings.HasPrefix(d.Name, "nvme"))
	if h == nil {
		p.unread("smartctl "+d.Name, complaint)
		return
	}
	d.Health = h
	if cache != nil {
		d.WriteCache = cache
	}
	if d.Model == "" {
		d.Model = answer.text("model_name", "scsi_model_name", "product")
	}
}

// parseSmartctl reads `smartctl -j -x`, of ATA, SCSI and NVMe. h is nil when
// smartctl could not talk to the device, and complaint says why. What the answer
// lacks although drives of its kind tell it is in Health.Missing.
func parseSmartctl(o object, isNVMe bool) (h *tune.Health, cache *bool, complaint string) {
	log := o.at("nvme_smart_health_information_log")
	rotation, rotates := o.maybe("rotation_rate")
	passed, told := o.at("smart_status").maybeTrue("passed")
	if log == nil && !rotates && !told {
		for _, m := range o.at("smartctl").rows("messages") {
			complaint = m.text("string")
		}
		if complaint == "" {
			complaint = "it told nothing about the drive's health"
		}
		return nil, nil, complaint
	}
	h = noHealth("smartctl")
	if rotates {
		h.Rotation = int(rotation)
	}
	if told {
		h.Passed = &passed
	} else {
		h.Missing = append(h.Missing, "its overall self-assessment")
	}
	if flags, ok := o.at("smartctl").maybe("exit_status"); ok && flags&8 != 0 { // smartctl(8): SMART status check returned "DISK FAILING"
		failing := false
		h.Passed = &failing
	}
	if n, ok := o.at("endurance_used").maybe("current_percent"); ok {
		used(h, int(n), "")
	}
	if n, ok := o.at("power_on_time").maybe("hours"); ok && n > 0 {
		h.Hours = n
	}
	switch {
	case isNVMe || log != nil || protocol(o) == "NVME":
		nvmeLog(h, log)
	case protocol(o) == "SCSI":
		scsiHealth(h, o)
	default:
		ataHealth(h, o)
	}
	if on, ok := o.at("write_cache").maybeTrue("enabled"); ok {
		cache = &on
	}
	return h, cache, ""
}

// noHealth is one that says nothing yet.
func noHealth(from string) *tune.Health {
	return &tune.Health{From: from, Rotation: -1, Used: -1, Spare: -1, HotMinutes: -1, Reallocated: -1, Pending: -1, Uncorrectable: -1}
}

// protocol is what the drive speaks, by the answer's own word or by what is in it.
func protocol(o object) string {
	word := strings.ToUpper(o.at("device").text("protocol"))
	_, scsi := o["scsi_error_counter_log"]
	_, ata := o["ata_smart_attributes"]
	switch {
	case ata:
		return "ATA"
	case word == "" && scsi:
		return "SCSI"
	}
	return word
}

// nvmeLog reads the health log of smartctl or of nvme-cli, which name its
// fields differently.
func nvmeLog(h *tune.Health, log object) {
	h.Rotation = 0
	warning, told := log.maybe("critical_warning")
	if inner := log.at("critical_warning"); inner != nil { // nvme-cli -v
		warning, told = inner.maybe("value")
	}
	h.Critical = int(warning)
	lacks := func(there bool, what string) {
		if !there {
			h.Missing = append(h.Missing, what)
		}
	}
	lacks(told, "critical_warning")
	n, told := log.maybe("percentage_used", "percent_used")
	if lacks(told, "percentage_used"); told {
		used(h, int(n), "")
	}
	n, told = log.maybe("available_spare", "avail_spare")
	if lacks(told, "available_spare"); told {
		h.Spare = int(n)
	}
	h.SpareThreshold = int(log.number("available_spare_threshold", "spare_thresh"))
	if n, ok := log.maybe("power_on_hours"); ok && n > 0 {
		h.Hours = n
	}
	h.MediaErrors, told = log.maybe("media_errors")
	lacks(told, "media_errors")
	hot, one := log.maybe("warning_temp_time")
	critical, two := log.maybe("critical_comp_time")
	if one && two {
		h.HotMinutes, h.CriticalMins = hot, critical
	}
}

// nvme asks what smartctl does not tell: the volatile cache, the formats, and
// the health where there is no smartctl.
func (p *prober) nvme(d *tune.Disk) {
	device := "/dev/" + d.Name
	if text, ok := p.command("nvme-id-ctrl-"+d.Name+".json", []string{"nvme", "id-ctrl", device, "-o", "json"}); ok {
		if o, err := parseObject(text); err != nil {
			p.unread("nvme id-ctrl "+d.Name, "its answer is no JSON")
		} else if vwc, ok := o.maybe("vwc"); ok {
			on := vwc&1 == 1
			d.WriteCache = &on
		}
	}
	if text, ok := p.command("nvme-id-ns-"+d.Name+".json", []string{"nvme", "id-ns", device, "-o", "json"}); ok {
		if o, err := parseObject(text); err != nil {
			p.unread("nvme id-ns "+d.Name, "its answer is no JSON")
		} else {
			d.NVMe = parseFormats(o)
		}
	}
	if d.Health != nil {
		return
	}
	if text, ok := p.command("nvme-smart-log-"+d.Name+".json", []string{"nvme", "smart-log", device, "-o", "json"}); ok {
		if o, err := parseObject(text); err != nil {
			p.unread("nvme smart-log "+d.Name, "its answer is no JSON")
		} else {
			d.Health = noHealth("nvme")
			nvmeLog(d.Health, o)
		}
	}
}

// parseFormats reads the formats of `nvme id-ns`: lbafs with ds, the power of
// two of a sector, and rp, where 0 is best; flbas says which one is in use.
func parseFormats(o object) []tune.LBAFormat {
	var out []tune.LBAFormat
	used := o.number("flbas") & 0xf
	for i, f := range o.rows("lbafs") {
		power := f.number("ds")
		if power < 0 || power > 30 {
			power = 0
		}
		out = append(out, tune.LBAFormat{Bytes: 1 << power, Performance: int(f.number("rp")), InUse: int64(i) == used})
	}
	return out
}

// parseHdparm reads `hdparm -W`: "write-caching =  1 (on)".
func parseHdparm(text string) *bool {
	_, rest, ok := strings.Cut(text, "write-caching =")
	words := strings.Fields(rest)
	if !ok || len(words) == 0 || words[0] != "0" && words[0] != "1" {
		return nil
	}
	on := words[0] == "1"
	return &on
}
