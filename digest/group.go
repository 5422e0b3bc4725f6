package digest

import "bytes"

// noGroup is where events go that lack what they are grouped by.
const noGroup = "(none)"

// group counts an event in the class, or the classes, that Options.GroupBy puts it in.
func (b *Builder) group(e *event) {
	switch b.options.GroupBy {
	case ByFingerprint:
		b.countStatement(e)
	case ByTable:
		b.eachTable(e)
	case ByUser:
		b.countGroup(e.user.text, e)
	case ByHost:
		b.countGroup(e.host.text, e)
	case ByDB:
		b.countGroup(e.db.text, e)
	case ByShard:
		b.countGroup(b.shard(e), e)
	}
}

func (b *Builder) countGroup(key []byte, e *event) {
	if len(key) == 0 {
		key = []byte(noGroup)
	}
	b.countIn(b.class(key, e), e)
}

// eachTable counts an event once for every table it touches, named with its database where that is known.
func (b *Builder) eachTable(e *event) {
	tables := tablesOf(nil, e.text)
	if len(tables) == 0 {
		b.countGroup(nil, e)
	}
	for _, t := range tables {
		if bytes.IndexByte(t, '.') < 0 && len(e.db.text) > 0 {
			t = append(append(bytes.Clone(e.db.text), '.'), t...)
		}
		b.countIn(b.class(t, e), e)
	}
}

// shard is the database an event works on: that of its first table where the statement names one, else that of its
// connection.
func (b *Builder) shard(e *event) []byte {
	b.names = tablesOf(b.names[:0], e.text)
	for _, t := range b.names {
		if dot := bytes.IndexByte(t, '.'); dot > 0 {
			return t[:dot]
		}
	}
	return e.db.text
}
