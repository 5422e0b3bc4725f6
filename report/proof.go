package report

import "fmt"

// proofRow is one figure of the ledger and of the clients.
type proofRow struct {
	Name, Figure string
	Means        string
	Again        string // the command that shows it again
	IsBad        bool
	Verdict      string // a word beside a figure that is not as it must be
}

func proofRows(p *Proof) []proofRow {
	if p == nil {
		return nil
	}
	zero := func(name string, n int64, means, again string) proofRow {
		r := proofRow{Name: name, Figure: whole(float64(n)), Means: means, Again: again, IsBad: n > 0}
		if r.IsBad {
			r.Verdict = "must be 0"
		}
		return r
	}
	plain := func(name, figure, means, again string) proofRow {
		return proofRow{Name: name, Figure: figure, Means: means, Again: again}
	}
	const verify, load = "stowage demo verify", "stowage demo load"
	return []proofRow{
		plain("acknowledged writes", whole(float64(p.Acknowledged)), "transactions whose COMMIT was answered; the client wrote each one to the ledger before it went on", verify),
		zero("lost", p.Lost, "in the ledger and not in the databases", verify),
		zero("duplicated", p.Duplicated, "in the databases more than once", verify),
		zero("failed queries", p.FailedQueries, "a client got an error that the routing rules do not tell it to try again", load),
		zero("stale reads", p.StaleReads, "a client did not see a write of its own that had been acknowledged", load),
		plain("tried again", whole(float64(p.Retried)), "attempts that a switch turned away before COMMIT was sent, and that the client ran again; nothing had been applied", load),
		plain("longest pause", millis(p.MaxPauseMillis), fmt.Sprintf("the longest that any query waited for a gate; p50 %s, p95 %s, p99 %s", millis(p.PauseP50), millis(p.PauseP95), millis(p.PauseP99)), load),
		plain("p50 of queries", both(p.P50Before, p.P50After), "at the client, network and waiting included: before the move and after it", load),
		plain("p99 of queries", both(p.P99Before, p.P99After), "the same for the slowest hundredth", load),
		plain("watched for", span(seconds(p.Seconds)), "from the first client to the last: before, during and after the move", load),
	}
}

func both(before, after float64) string {
	if before <= 0 || after <= 0 {
		return "not measured"
	}
	return digits(before) + " \u2192 " + millis(after)
}
