package farmtest

// Ask sends a statement so many times, in one session that begins now.
func (b *BehindLine) Ask(query string, times int) {
	c, err := b.db.Conn(b.t.Context())
	if err != nil {
		b.t.Errorf("%s: %v", b.Name, err)
		return
	}
	defer c.Close()
	for range times {
		var v string
		if err := c.QueryRowContext(b.t.Context(), query).Scan(&v); err != nil {
			b.t.Errorf("%s: %v", b.Name, err)
			return
		}
	}
}
