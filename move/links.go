package move

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
)

// replicationAs is the account for a link that the new instance makes, or that
// is made to it by a server without one: with the TLS of [replication], else of
// the link that was there before.
func (r *replacement) replicationAs(ctx context.Context) (mysql.Account, error) {
	return r.mover.Replication.LinkedAs(ctx, append([]*mysql.Server{r.Leaves, r.Twin}, r.linked...)...)
}

// askTLS asks whether links can be made as they were: an account that asks for
// TLS needs a link that speaks it, and the files of the link on the new host.
func askTLS(ctx context.Context, source peer, as mysql.Account, where farm.HostName, fresh host.Host) ([]farm.Finding, error) {
	var out []farm.Finding
	logins, err := source.server.Logins(ctx)
	if err != nil {
		return nil, err
	}
	t := as.Source
	for _, l := range logins {
		switch {
		case l.User != as.User || !l.RequiresTLS:
		case t == nil || t.Off:
			out = append(out, blocker(source.name, "the replication account "+l.String()+" requires TLS, and neither a link of this pair nor [replication] of the accounts file has it",
				"[replication] ssl-ca=FILE, a path on the servers' hosts; or ALTER USER "+l.String()+" REQUIRE NONE"))
		case l.RequiresCertificate && t.Cert == "":
			out = append(out, blocker(source.name, "the replication account "+l.String()+" requires a certificate, and links are made without one",
				"[replication] ssl-cert=FILE and ssl-key=FILE, paths on the servers' hosts"))
		}
	}
	return append(out, missingFiles(ctx, t, where, fresh)...), nil
}

// askOwnTLS asks whether Stowage itself can log in to the new instance: it has the options of this one. A server of MariaDB that takes logins over TLS only calls every other one a wrong
// password (1045), and that after the copy.
func askOwnTLS(p peer, own mysql.Account, where farm.HostName, fresh string) []farm.Finding {
	if !strings.EqualFold(p.facts.Variables["require_secure_transport"], "ON") || own.At(fresh).TLS != nil {
		return nil
	}
	return []farm.Finding{blocker(p.name, fmt.Sprintf("it takes logins over TLS only (require_secure_transport), and so will the new instance; the accounts file has no ssl-ca for host %s", where),
		fmt.Sprintf("ssl-ca=FILE in [stowage@%s]; the new instance's certificate must be for that host", where))}
}

// missingFiles: what a link needs and the new host does not have. Keys are not read.
func missingFiles(ctx context.Context, t *mysql.SourceTLS, where farm.HostName, fresh host.Host) []farm.Finding {
	if t == nil || fresh == nil {
		return nil
	}
	var missing []string
	for _, path := range t.Files() {
		if path == t.Key || path == t.CAPath || path == t.CRLPath {
			continue
		}
		if _, err := fresh.ReadFile(ctx, path); errors.Is(err, os.ErrNotExist) {
			missing = append(missing, path)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return []farm.Finding{blocker(string(where), fmt.Sprintf("replication of this pair uses TLS, and the new host does not have %s", strings.Join(missing, ", ")),
		"put the files there before the move")}
}

// askBackup asks about the account that a copy is made with, whose password the
// host of the server that is copied learns.
func askBackup(ctx context.Context, p peer, m *Mover) ([]farm.Finding, error) {
	as := m.Backup.At(p.server.Address())
	admin := m.Admin.At(p.server.Address())
	if as.User == admin.User {
		return []farm.Finding{remark(p.name, "its host sees the password of "+as.User+", who may do everything on this server: copies are made with this account",
			"a group [backup] in the accounts file, with an account that may be copied from and nothing else: docs/reference/privileges.md")}, nil
	}
	fault, remedy, err := p.server.BackupFault(ctx, as)
	if err != nil || fault == "" {
		return nil, err
	}
	return []farm.Finding{blocker(p.name, fault, remedy)}, nil
}
