package engine

import "log/slog"

// quietLog hands the SDK's own messages to slog, one or two levels down: what it calls an error (a failed attempt, an unreachable
// server) is daily bread for a durable job and is reported where it belongs, in results.
type quietLog struct{ log *slog.Logger }

func (q quietLog) Debug(string, ...any)            {}
func (q quietLog) Info(msg string, keyvals ...any) { q.log.Debug(msg, keyvals...) }
func (q quietLog) Warn(msg string, keyvals ...any) { q.log.Debug(msg, keyvals...) }
func (q quietLog) Error(msg string, keyvals ...any) {
	if msg == "Activity error." {
		q.log.Debug(msg, keyvals...)
		return
	}
	q.log.Warn(msg, keyvals...)
}
