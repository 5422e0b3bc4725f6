package mysql

import (
	"context"
	"net"
	"slices"
	"strconv"
)

// Source is one of the servers that a server replicates from.
type Source struct {
	Host     string
	Port     int
	ServerID uint32 // as it said when it was last connected; 0 when it never was
}

// Address is host:port as the replica dials it.
func (s Source) Address() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

// Sources are all servers that this one replicates from, running or not, in
// the order of the names of their connections.
func (s *Server) Sources(ctx context.Context) ([]Source, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, err
	}
	records, err := s.records(ctx, d.status)
	if err != nil {
		return nil, err
	}
	var out []Source
	for _, r := range records {
		d.translate(r)
		id := r["Master_Server_Id"]
		if id == "" {
			id = r["Source_Server_Id"]
		}
		port, _ := strconv.Atoi(r["Master_Port"])
		out = append(out, Source{Host: r["Master_Host"], Port: port, ServerID: number(id)})
	}
	return out, nil
}

// ReaderHosts are the machines from which the server's binary log is read just
// now, as the server sees them. A replica that registered without an address
// (report_host) is at its port on one of them.
func (s *Server) ReaderHosts(ctx context.Context) ([]string, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, err
	}
	records, err := s.records(ctx, "SELECT HOST AS peer FROM "+d.processes+" WHERE COMMAND LIKE 'Binlog Dump%'")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range records {
		host, _, err := net.SplitHostPort(r["peer"])
		if err != nil {
			host = r["peer"]
		}
		if host != "" && !slices.Contains(out, host) {
			out = append(out, host)
		}
	}
	slices.Sort(out)
	return out, nil
}
