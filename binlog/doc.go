// Package binlog reads files of a MariaDB server's binary log.
//
// It answers: "which transactions stand in this file, where does each begin, and
// when was it written?" Pure: it is handed bytes.
package binlog
