package digest

import (
	"bytes"
	"testing"
	"testing/iotest"

	"stowage/digest/internal/gen"
)

// FuzzSlowLog: whatever the bytes, reading ends, every byte is accounted for, and the size of the pieces in which a file
// arrives does not matter.
func FuzzSlowLog(f *testing.F) {
	f.Add([]byte(banner + logged(30, "SELECT 'x"+forged+"'") + logged(20, "COMMIT") + banner))
	f.Add([]byte(extra(1) + extra(2)))
	f.Add([]byte(logged(30, "SELEC broken 'abc") + logged(20, "use x") + logged(20, "SET timestamp=5")))
	f.Add([]byte("# Time: 071218 11:48:27 # User@Host: [SQL_SLAVE] @  []\n# Thread_id: 10\n# Query_time: 2  Lock_time: 0\nBEGIN;\n# administrator command: Quit;\n"))
	f.Add([]byte("SELECT 1 /usr/sbin/mariadbd, Version: 1 started with:\nTcp port: 1\n"))
	f.Add(bytes.ReplaceAll([]byte(logged(30, "SELECT a\nFROM t")), []byte("\n"), []byte("\r\n")))
	f.Add([]byte(mysqlLog(4)))
	var log bytes.Buffer
	if _, err := (gen.SlowLog{Seed: 1, Events: 12}).Write(&log); err != nil {
		f.Fatal(err)
	}
	f.Add(log.Bytes())
	f.Fuzz(func(t *testing.T, log []byte) {
		b := New(Options{})
		if err := b.ReadSlowLog("log", bytes.NewReader(log)); err != nil {
			t.Fatal(err)
		}
		whole := b.Digest()
		if n := whole.inputs[0].bytes; n != int64(len(log)) {
			t.Fatalf("%d bytes of %d accounted for", n, len(log))
		}
		b = New(Options{})
		s := &slowLog{b: b, r: iotest.OneByteReader(bytes.NewReader(log)), in: input{name: "log", kind: "slowlog"}, buf: make([]byte, 64)}
		if err := s.run(); err != nil {
			t.Fatal(err)
		}
		pieces := b.Digest()
		s.in.bytes, s.in.dialect = whole.inputs[0].bytes, whole.inputs[0].dialect
		pieces.inputs = []input{s.in}
		p, w := packer{}, packer{}
		pieces.encode(&p)
		whole.encode(&w)
		if !bytes.Equal(p.out, w.out) {
			t.Fatalf("in small pieces %+v\nat once %+v", pieces.Report(), whole.Report())
		}
	})
}
