package farmtest

// Exit codes, as the manual has them.
const (
	ExitFine        = 0
	ExitFindings    = 1
	ExitUsage       = 2
	ExitRefused     = 3
	ExitFailed      = 4
	ExitUnknown     = 5
	ExitInterrupted = 130
)
