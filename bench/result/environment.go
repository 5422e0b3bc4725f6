package result

// Environment is where a result was made. What a machine does not tell is left out.
type Environment struct {
	Host     string  `json:"host"`
	Kernel   string  `json:"kernel"`
	Arch     string  `json:"arch"`
	CPUs     int     `json:"cpus"`
	CPUModel string  `json:"cpu_model,omitempty"`
	Memory   int64   `json:"memory_bytes"`
	Stowage  string  `json:"stowage"`
	Fio      string  `json:"fio"`
	Load     float64 `json:"load_average"`
	// Hypervisor says that the machine is a guest of one: what other guests do to the disk is not seen.
	Hypervisor bool `json:"hypervisor,omitempty"`

	Directory    string `json:"directory"`
	Mount        string `json:"mount_point"`
	Filesystem   string `json:"filesystem"`
	MountSource  string `json:"mount_source"`
	MountOptions string `json:"mount_options"`
	Capacity     int64  `json:"capacity_bytes"`
	Free         int64  `json:"free_bytes"` // before

	Device *Device `json:"device,omitempty"` // nil where no single block device is under the directory
}

// Device is a block device as /sys shows it.
type Device struct {
	Name   string `json:"name"`
	Size   int64  `json:"size_bytes"`
	Model  string `json:"model,omitempty"`
	Serial string `json:"serial,omitempty"`
	ByID   string `json:"by_id,omitempty"`
	// Queue is every readable, one-line file of /sys/block/NAME/queue.
	Queue map[string]string `json:"queue"`
	// Parts are the devices this one is made of (md, LVM), by name.
	Parts []string `json:"parts,omitempty"`
	// Thermal are counters of heat, before and after; empty where the device tells none.
	Thermal map[string][2]int64 `json:"thermal,omitempty"`
}
