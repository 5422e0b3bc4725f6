package mysql

import (
	"context"
	"database/sql/driver"
	"net"
	"time"

	my "github.com/go-sql-driver/mysql"
)

// Connector opens connections to the server at host:port. Every connection of
// Stowage by this driver is made here, and its login is watched (login). more
// adds what is special about it; nil: nothing.
func Connector(address string, as Account, more func(*my.Config)) (driver.Connector, error) {
	as = as.At(address)
	cfg := my.NewConfig()
	cfg.User, cfg.Passwd = as.User, as.Password
	cfg.Net, cfg.Addr = "tcp", address
	cfg.Logger = quiet() // every error comes back to us anyway
	// What a server may make a client do: no file of ours is ever sent, and
	// clear text and the oldest hash are not spoken. These are the defaults.
	cfg.AllowAllFiles, cfg.AllowCleartextPasswords, cfg.AllowOldPasswords = false, false, false
	cfg.Timeout = 3 * time.Second
	cfg.DialFunc = as.dial
	if more != nil {
		more(cfg)
	}
	inner, err := my.NewConnector(cfg)
	return connector{inner}, err
}

// dialer is for connections of others than the driver.
func (a Account) dialer(told *refusal) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return a.dial(context.WithValue(ctx, refusalKey{}, told), network, address)
	}
}

// connector says why a login was refused.
type connector struct{ driver.Connector }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, told := withRefusal(ctx)
	conn, err := c.Connector.Connect(ctx)
	if err != nil && told.err != nil && ctx.Err() == nil {
		return nil, told.err
	}
	return conn, err
}
