package tune

import "stowage/farm"

var dbDoublewrite = Rule{
	ID: "DB-DBLWR", Title: "the doublewrite buffer", Reads: "innodb_doublewrite",
	Source: "MySQL manual; measured: off halves the bytes written (88.9 to 43.1 KiB a transaction)",
	Except: "a device proven to write pages untorn, and a server that asks it to; throw-away replicas",
	Prove:  "OLTP-W",
	Check: func(f *Facts) Outcome {
		return f.each("innodb_doublewrite", func(i Instance, value, where string) (Finding, bool) {
			x := Finding{Severity: farm.Blocker, Subject: i.Name, Read: where,
				Verdict: "a page that is half written when the power fails cannot be repaired: the instance is lost",
				Why:     "InnoDB writes pages of 16 KiB, disks promise 4 KiB at most. The pages it saves are the only reason why it is off anywhere"}
			fixOption(&x, i, "innodb_doublewrite", "ON", value)
			switch {
			case is(value, "OFF", "0", "FALSE"):
				return x, true
			case is(value, "DETECT_ONLY"):
				x.Severity, x.Verdict = farm.Warning, "torn pages are found, and cannot be repaired"
				return x, true
			}
			return x, false
		})
	},
}
