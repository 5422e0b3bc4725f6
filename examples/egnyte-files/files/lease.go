package files

import (
	"context"
	"database/sql"
)

// leased reports whether carried columns may be read on this server just now. With keep: applier a program writes them behind the
// clients, and says in stowage_latest until when they are good; it may have died. Without that table nothing is behind.
func leased(ctx context.Context, conn *sql.Conn) (is bool, err error) {
	if err := conn.QueryRowContext(ctx, "SELECT COUNT(*) = 0 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'stowage_latest'").Scan(&is); err != nil || is {
		return is, err
	}
	err = conn.QueryRowContext(ctx, "SELECT COUNT(*) > 0 FROM stowage_latest WHERE spec = 'latest-version' AND server_id = @@server_id AND good_until > UTC_TIMESTAMP(6)").Scan(&is)
	return is, err
}
