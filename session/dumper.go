package session

import (
	"context"
	"io"
	"log/slog"

	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// dumpStreams is how many sessions of a server a dump reads with, side by side.
const dumpStreams = 2

// Dumper is what a machine, which asks no server, makes dumps with.
func Dumper(log *slog.Logger) host.Dumper {
	return func(ctx context.Context, as host.Login, databases []string, w io.Writer) error {
		account := mysql.Account{User: as.User, Password: as.Password}
		if as.CA != "" || as.Cert != "" {
			account.TLS = &mysql.TLS{CA: as.CA, Cert: as.Cert, Key: as.Key, AnyName: as.AnyName}
		}
		server := mysql.Open(farm.InstanceName(as.Address), as.Address, account, log)
		defer server.Close()
		_, err := rows.Dump(ctx, server, databases, dumpStreams, w)
		return err
	}
}
