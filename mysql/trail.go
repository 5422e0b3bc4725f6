package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"stowage/farm"
	"stowage/internal/lazy"
)

// Sent is one statement that Stowage sent to a server and that changes
// something there. Passwords are cut out of it.
type Sent struct {
	Server    farm.InstanceName
	Address   string
	Statement string
	// Rows: it writes rows, of which there can be millions. Statement is then
	// no more than its shape, without values.
	Rows bool
	// Err is set in a second report, when the statement failed.
	Err error
}

type trailKey struct{}

// WithTrail has told called, before it is sent, for every statement that
// changes something and is sent under ctx, on whichever server. The context
// carries it because that is what a step hands to everything it does.
func WithTrail(ctx context.Context, told func(Sent)) context.Context {
	return context.WithValue(ctx, trailKey{}, told)
}

// door is where every statement of a Server passes: a connector whose
// connections report what they send.
type door struct {
	driver.Connector
	server *Server
}

func (d door) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := d.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	full, ok := conn.(fullConn)
	if !ok { // a driver that lost an interface: sql.DB would silently do things another way
		_ = conn.Close()
		return nil, fmt.Errorf("connection of type %T cannot be followed", conn)
	}
	d.server.asked.Add(1) // the driver has set the variables of the session
	return passage{full, d.server}, nil
}

// fullConn is what the driver's connections can do. All of it has to be passed
// on: database/sql asks for each by type.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	driver.NamedValueChecker
}

// passage is one connection whose statements are reported.
type passage struct {
	fullConn
	server *Server
}

func (p passage) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	report := p.report(ctx, query, args)
	result, err := p.unseen(ctx, query, args)
	report(err)
	return result, err
}

// unseen keeps a statement with a secret out of the server's slow log, into
// which MariaDB writes it as it came (10.11, also CHANGE MASTER and CREATE USER;
// it takes a long_query_time of 0, or a slow moment). The general log is not
// ours to switch off.
func (p passage) unseen(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if isPlain(query) {
		return p.fullConn.ExecContext(ctx, query, args)
	}
	if _, err := p.fullConn.ExecContext(ctx, "SET SESSION long_query_time = 31536000", nil); err != nil {
		return nil, err
	}
	result, err := p.fullConn.ExecContext(ctx, query, args)
	if _, again := p.fullConn.ExecContext(ctx, "SET SESSION long_query_time = DEFAULT", nil); err == nil && again != nil {
		// The session is lost after the fact. It is in the pool no more, and
		// the statement was carried out.
		p.server.log.Debug("session lost after a statement", "server", p.server.name, "error", again)
	}
	return result, err
}

func (p passage) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	report := p.report(ctx, query, args)
	rows, err := p.fullConn.QueryContext(ctx, query, args)
	report(err)
	return rows, err
}

func (p passage) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	report := p.report(ctx, query, nil)
	stmt, err := p.fullConn.PrepareContext(ctx, query)
	report(err)
	return stmt, err
}

// report tells of a statement before it goes out, and returns what is to be
// told its error.
func (p passage) report(ctx context.Context, query string, args []driver.NamedValue) func(error) {
	p.server.asked.Add(1)
	told, ok := ctx.Value(trailKey{}).(func(Sent))
	if !ok || !changes(query) {
		return func(error) {}
	}
	s := Sent{Server: p.server.name, Address: p.server.address, Rows: writesRows(query)}
	if s.Rows {
		s.Statement = rowShape(query)
	} else {
		s.Statement = p.withoutSecrets(query, args)
	}
	told(s)
	return func(err error) {
		if err == nil || errors.Is(err, driver.ErrSkip) { // skipped: database/sql sends it another way, and comes here again
			return
		}
		if s.Err = err; !isPlain(s.Statement) {
			s.Err = withoutStatement(err)
		}
		told(s)
	}
}

// maxStatement is how much of a statement is kept.
const maxStatement = 4000

func (p passage) withoutSecrets(query string, args []driver.NamedValue) string {
	text := cutSecrets(query)
	if len(args) > 0 && isPlain(query) {
		values := make([]string, len(args))
		for i, a := range args {
			values[i] = fmt.Sprintf("%v", a.Value)
			if raw, ok := a.Value.([]byte); ok {
				values[i] = string(raw)
			}
		}
		text += " -- " + strings.Join(values, ", ")
	}
	// Whatever way it got in: our own password is nobody's to read.
	if secret := p.server.account.Password; secret != "" {
		text = strings.ReplaceAll(text, secret, cut)
	}
	if len(text) > maxStatement {
		text = strings.ToValidUTF8(text[:maxStatement], "") + " ..."
	}
	return text
}

// cut stands where a secret stood.
const cut = "***"

// secretWords come before a secret: MASTER_PASSWORD='x', IDENTIFIED BY 'x',
// IDENTIFIED VIA ed25519 USING PASSWORD('x'), SET PASSWORD.
var secretWords = lazy.Regexp(`(?i)password|identified|authentication|secret|credential`)

// isPlain reports whether a statement speaks of no secret.
func isPlain(statement string) bool { return !secretWords().MatchString(statement) }

// cutSecrets takes the literals out of a statement that come after a word for a
// secret. Better one host name too many than one password.
func cutSecrets(statement string) string {
	at := secretWords().FindStringIndex(statement)
	if at == nil {
		return statement
	}
	var out strings.Builder
	out.WriteString(statement[:at[1]])
	rest := statement[at[1]:]
	for {
		open := strings.IndexAny(rest, `'"`)
		if open < 0 {
			out.WriteString(rest)
			return out.String()
		}
		out.WriteString(rest[:open] + "'" + cut + "'")
		rest = rest[open:]
		rest = rest[literal(rest):]
	}
}

// literal is the length of the string literal that text begins with. A quote is
// written within it doubled or behind a backslash; one without end is all of
// text.
func literal(text string) int {
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == quote && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return len(text)
}

var comments = lazy.Regexp(`(?s)^\s*(/\*.*?\*/\s*|--[^\n]*\n\s*|#[^\n]*\n\s*)*`)

// words are the first words of a statement, in capitals.
func words(statement string, n int) []string {
	head := statement[len(comments().FindString(statement)):]
	if len(head) > 300 {
		head = head[:300]
	}
	fields := strings.Fields(strings.ToUpper(head))
	return fields[:min(n, len(fields))]
}

// readers are statements that change nothing that anybody else could see.
var readers = map[string]bool{
	"SELECT": true, "SHOW": true, "DESC": true, "DESCRIBE": true, "EXPLAIN": true, "WITH": true, "BEGIN": true, "COMMIT": true,
	"ROLLBACK": true, "SAVEPOINT": true, "RELEASE": true, "USE": true, "HELP": true, "CHECKSUM": true, "VALUES": true, "TABLE": true, "DO": true,
}

// notable are settings of a session that change what others get.
var notable = lazy.Regexp(`(?i)\b(global|persist|persist_only|password|sql_log_bin|gtid_domain_id|gtid_seq_no|gtid_slave_pos|server_id|role)\b`)

// changes reports whether a statement changes something beyond its own session.
// One that it does not know does.
func changes(statement string) bool {
	w := words(statement, 2)
	switch {
	case len(w) == 0:
		return false
	case readers[strings.TrimLeft(w[0], "(")]:
		return false
	case w[0] == "SET":
		return notable().MatchString(statement)
	case w[0] == "START":
		return len(w) < 2 || w[1] != "TRANSACTION"
	}
	return true
}

// writesRows reports whether a statement carries data of users.
func writesRows(statement string) bool {
	w := words(statement, 1)
	switch w[0] {
	case "INSERT", "REPLACE", "UPDATE", "DELETE", "LOAD":
		return true
	}
	return false
}

// rowShape is a statement that writes rows up to where its values begin.
func rowShape(statement string) string {
	text := strings.Join(strings.Fields(statement[:min(len(statement), 400)]), " ")
	if i := strings.IndexAny(text, `'"`); i >= 0 {
		text = text[:i]
	}
	upper := strings.ToUpper(text)
	for _, end := range []string{" VALUES", " VALUE", " SET ", " WHERE "} {
		if i := strings.Index(upper, end); i >= 0 {
			text, upper = text[:i], upper[:i]
		}
	}
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "")
	}
	return text + " ..."
}

// opening is a statement's first words, up to whatever could be a value.
func opening(statement string) string {
	text := statement[len(comments().FindString(statement)):]
	fields := strings.Fields(text[:min(200, len(text))])
	var out []string
	for _, word := range fields[:min(3, len(fields))] {
		if at := strings.IndexAny(word, "'\"(=;0123456789"); at >= 0 {
			break
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}
