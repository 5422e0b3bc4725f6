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
			text := f["text"]
			if r := []rune(text); len(r) > 160 {
				text = string(r[:160]) + " ..."
			}
			texts = append(texts, text)
		}
	}
	return texts, true, nil
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
