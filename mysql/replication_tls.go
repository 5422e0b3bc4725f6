package mysql

import (
	"context"
	"strings"
)

// LinkTLS is how the server's link to its source uses TLS: nil without a link,
// or one without TLS.
func (s *Server) LinkTLS(ctx context.Context) (*SourceTLS, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, err
	}
	records, err := s.records(ctx, d.status)
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		of := func(column string) string {
			if d.flavor.HasGTIDDomains() {
				return r["Master_"+column]
			}
			return r["Source_"+column]
		}
		name := r["Connection_name"] + r["Channel_Name"]
		if name != "" && len(records) > 1 {
			continue
		}
		t := &SourceTLS{CA: of("SSL_CA_File"), CAPath: of("SSL_CA_Path"), Cert: of("SSL_Cert"), Key: of("SSL_Key"), Cipher: of("SSL_Cipher"),
			CRL: of("SSL_Crl"), CRLPath: of("SSL_Crlpath"), Versions: of("TLS_Version"), Verify: of("SSL_Verify_Server_Cert") == "Yes"}
		if of("SSL_Allowed") == "Yes" {
			return t, nil
		}
		if key := r["Source_public_key_path"]; key != "" {
			return &SourceTLS{Off: true, PublicKey: key}, nil
		}
	}
	return nil, nil
}

// LinkedAs is the account with the TLS of the first of the servers whose link
// has any, unless the accounts file says what links are to use. It is for a
// server that has no link yet: one that has keeps what it had.
func (a Account) LinkedAs(ctx context.Context, servers ...*Server) (Account, error) {
	if a.Source != nil {
		return a, nil
	}
	for _, s := range servers {
		t, err := s.LinkTLS(ctx)
		if err != nil {
			return a, err
		}
		if t != nil {
			a.Source = t
			return a, nil
		}
	}
	return a, nil
}

// clauses are the options of CHANGE MASTER, or of CHANGE REPLICATION SOURCE.
// Nil says nothing, and then a link keeps what it has.
func (t *SourceTLS) clauses(d dialect) string {
	isMariaDB := d.flavor.HasGTIDDomains()
	if t == nil && isMariaDB {
		return ""
	}
	if t == nil { // without TLS the source's key is asked for, as MySQL's clients do: docs/reference/security.md
		return ", GET_SOURCE_PUBLIC_KEY=1"
	}
	on := func(is bool) string {
		if is {
			return "1"
		}
		return "0"
	}
	b := ", MASTER_SSL=" + on(!t.Off)
	if !t.Off {
		for _, o := range [][2]string{{"CA", t.CA}, {"CAPATH", t.CAPath}, {"CERT", t.Cert}, {"KEY", t.Key}, {"CIPHER", t.Cipher}, {"CRL", t.CRL}, {"CRLPATH", t.CRLPath}} {
			b += ", MASTER_SSL_" + o[0] + "=" + quote(o[1])
		}
		b += ", MASTER_SSL_VERIFY_SERVER_CERT=" + on(t.Verify)
	}
	if isMariaDB {
		return b
	}
	b = strings.ReplaceAll(b, "MASTER_SSL", "SOURCE_SSL")
	if t.Versions != "" {
		b += ", SOURCE_TLS_VERSION=" + quote(t.Versions)
	}
	if t.PublicKey != "" {
		b += ", SOURCE_PUBLIC_KEY_PATH=" + quote(t.PublicKey)
	}
	return b + ", GET_SOURCE_PUBLIC_KEY=" + on(t.Off && t.PublicKey == "")
}
