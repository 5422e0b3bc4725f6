package mysql

import (
	"context"
	"slices"
	"strings"
)

// WritesNaming are the statements of clients, as performance_schema keeps them, that write one table and name another. known: it keeps any.
func (s *Server) WritesNaming(ctx context.Context, writes, names string) (texts []string, known bool, err error) {
	var on int
	if err := s.row(ctx, "SELECT @@performance_schema", nil, &on); err != nil || on == 0 {
		return nil, false, err
	}
	found, err := s.recordsSlow(ctx, "SELECT DISTINCT LEFT(DIGEST_TEXT, 2000) AS text FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT REGEXP '^(INSERT|REPLACE|UPDATE|DELETE|LOAD|WITH) ' AND DIGEST_TEXT LIKE "+quote("%"+names+"%")+" AND DIGEST_TEXT LIKE "+quote("%"+writes+"%"))
	if err != nil {
		return nil, false, err
	}
	for _, f := range found {
		if !fillsIn(f["text"], writes, names) && writesAndNames(f["text"], writes, names) {
			texts = append(texts, shortText(f["text"]))
		}
	}
	return texts, true, nil
}

// Replaces are the statements of clients, as performance_schema keeps them, that replace rows of a table: with REPLACE, or with LOAD DATA ... REPLACE.
func (s *Server) Replaces(ctx context.Context, table string) (texts []string, err error) {
	var on int
	if err := s.row(ctx, "SELECT @@performance_schema", nil, &on); err != nil || on == 0 {
		return nil, err
	}
	found, err := s.recordsSlow(ctx, "SELECT DISTINCT LEFT(DIGEST_TEXT, 2000) AS text FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT REGEXP '^(REPLACE|LOAD .* REPLACE) ' AND DIGEST_TEXT LIKE "+quote("%"+table+"%"))
	for _, f := range found {
		if replaces(f["text"], table) {
			texts = append(texts, shortText(f["text"]))
		}
	}
	return texts, err
}

// replaces: the table that is written is named before any columns, values or query.
func replaces(text, table string) bool {
	for _, w := range splitWords(text) {
		switch {
		case w.names(table):
			return true
		case w.text == "(", w.is("SELECT"), w.is("VALUES"), w.is("SET"):
			return false
		}
	}
	return false
}

func shortText(text string) string {
	if r := []rune(text); len(r) > 160 {
		return string(r[:160]) + " ..."
	}
	return text
}

// writesAndNames: the table that is written is the first that is named, but for UPDATE and DELETE of several, which may write any.
func writesAndNames(text, writes, names string) bool {
	words := splitWords(text)
	first := func(w word) bool { return w.names(writes) || w.names(names) }
	at := slices.IndexFunc(words, first)
	if at < 0 || !slices.ContainsFunc(words, func(w word) bool { return w.names(writes) }) || !slices.ContainsFunc(words, func(w word) bool { return w.names(names) }) {
		return false
	}
	if strings.HasPrefix(text, "INSERT") || strings.HasPrefix(text, "REPLACE") || strings.HasPrefix(text, "LOAD") {
		return words[at].names(writes)
	}
	return true
}

// fillsIn: the statement is the one by which a reshape fills in parents (package latest). It reads children and writes parents only, so no trigger of the children fires.
func fillsIn(text, children, parents string) bool {
	compact := strings.NewReplacer(" ", "", "`", "").Replace(text)
	return strings.HasPrefix(compact, "UPDATE") && strings.Contains(compact, "."+parents+"pLEFTJOIN") && strings.Contains(compact, "."+children+"cONc.") && strings.Contains(compact, "SETp.")
}
