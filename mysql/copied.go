package mysql

import "strings"

// What the copier of package rows leaves in the database that it carries, and how whoever reads definitions and the binary log knows it.
const (
	// AsidePrefix is put before the name of a table that was set aside at a cutover.
	AsidePrefix = "_stowage_"
	// MarkPrefix begins the names of the copier's own tables.
	MarkPrefix = "_stowmark_"
	// OwnComment stands in every statement of the copier that changes definitions, so that its own reader knows them.
	OwnComment = "/* stowage:copier */"
)

// IsMark reports whether a table is one of the copier's own.
func IsMark(table string) bool { return strings.HasPrefix(table, MarkPrefix) }
