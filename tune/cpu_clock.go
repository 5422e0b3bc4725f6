package tune

import "stowage/farm"

var cpuClock = Rule{
	ID: "CPU-CLK", Title: "the clock", Reads: "/sys/devices/system/clocksource/clocksource0/current_clocksource",
	Source: "kernel, timekeeping: tsc and kvm-clock are read without a system call; measured: tsc here",
	Except: "machines whose tsc really drifts (dmesg: clocksource: Marking TSC unstable)",
	Check: func(f *Facts) Outcome {
		switch f.Clock {
		case "":
			return notApplicable("the clock source could not be read")
		case "tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page":
			return Outcome{}
		}
		return found(Finding{Severity: farm.Warning, Subject: "clock", Read: "current_clocksource: " + f.Clock,
			Verdict: "every look at the clock is a system call, or slower: servers look several times a query",
			Why:     "hpet and acpi_pm are read over a bus; xen asks the hypervisor", Fix: "clocksource=tsc on the kernel command line, when dmesg says nothing against it",
			Persist: "/etc/default/grub", Revert: "take it out"})
	},
}
