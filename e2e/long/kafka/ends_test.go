package kafka

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/demo"
	"stowage/e2e/farmtest"
	"stowage/farm"
)

// kept is a table whose changes are followed, of a shard that clients write to.
type kept struct {
	*farmtest.LiveFarm
	b  *broker
	db *sql.DB
	id int // of the newest row
}

func newKept(t *testing.T) *kept {
	t.Helper()
	k := &kept{b: startBroker(t), LiveFarm: farmtest.Raise(t, demo.Options{Pairs: 1, Shards: 2, Hosts: 2, Rows: 50}, 20, nil)}
	k.db = k.Login(addressOf(t, k.LiveFarm), "stowage")
	k.change(t, "CREATE TABLE "+farmtest.Goes+".kept (id INT PRIMARY KEY, body LONGTEXT)")
	return k
}

func (k *kept) change(t *testing.T, statement string) {
	t.Helper()
	_, err := k.db.ExecContext(t.Context(), statement)
	must(t, err)
}

func (k *kept) insert(t *testing.T, size int) {
	t.Helper()
	k.id++
	k.change(t, fmt.Sprintf("INSERT INTO %s.kept VALUES (%d, REPEAT('x', %d))", farmtest.Goes, k.id, size))
}

// follows begins to write what changes into a topic, again from its state.
func (k *kept) follows(topic, broker string) *farmtest.Background {
	return k.Start("follow", "--shard", farmtest.Goes, "--tables", "kept", "--from", "now", "--state", k.Dir+"/"+topic, "--kafka", broker, "--topic", topic)
}

// reaches begins so, and returns when the topic has a first row.
func (k *kept) reaches(t *testing.T, topic *topic) *farmtest.Background {
	t.Helper()
	p := k.follows(topic.name, k.b.address)
	k.says(p, "following ")
	k.arrives(t, p, topic)
	return p
}

func (k *kept) arrives(t *testing.T, p *farmtest.Background, topic *topic) {
	t.Helper()
	was := topic.records()
	k.insert(t, 10)
	k.Await(p, "the row is in the topic", func() bool { return topic.records() > was })
}

func (k *kept) says(p *farmtest.Background, words string) {
	k.T.Helper()
	k.Await(p, "it says "+words, func() bool { return strings.Contains(p.Out.String(), words) })
}

// What can be wrong with a topic and its broker is said once, with an exit code that the guide has, and is waited for where it can pass.
func TestTopicsThatCannotBeWrittenTo(t *testing.T) {
	k := newKept(t)
	t.Run("no topic", func(t *testing.T) {
		p := k.follows("missing", k.b.address)
		p.Ends(t, farmtest.ExitUsage)
		saysOnce(t, p, "reach topic missing "+k.b.address, "UNKNOWN_TOPIC_OR_PARTITION", "create the topic first")
	})
	t.Run("no broker", func(t *testing.T) {
		nobody := freeAddress(t)
		p := k.follows("missing", nobody)
		p.Ends(t, farmtest.ExitFailed)
		saysOnce(t, p, "reach topic missing "+nobody, "connection refused", "check that a broker runs there")
	})
	t.Run("a line that is too large", func(t *testing.T) {
		topic := k.b.create("large", 1, nil)
		p := k.reaches(t, topic)
		k.insert(t, 2<<20)
		k.insert(t, 10)
		p.Ends(t, farmtest.ExitRefused)
		saysOnce(t, p, `the line for {"table":"kept","key":{"id":2}} has 2097`, "the topic takes 1048588", "raise max.message.bytes", "--past ")
		if n := topic.records(); n != 1 {
			t.Errorf("%d records are there, want the one before the line that is too large", n)
		}
		topic.set("max.message.bytes", "4000000")
		p = k.follows(topic.name, k.b.address)
		k.Await(p, "the large line and the next are there", func() bool { return topic.records() == 3 })
		p.Kill()
	})
	t.Run("a broker that hangs, and an interruption", func(t *testing.T) {
		topic := k.b.create("hangs", 1, nil)
		p := k.reaches(t, topic)
		k.b.signal(syscall.SIGSTOP)
		k.insert(t, 10)
		k.says(p, "topic hangs has not acknowledged records for 10 s: waiting")
		time.Sleep(15 * time.Second) // until it has sent them again
		k.b.signal(syscall.SIGCONT)
		k.Await(p, "it continues", func() bool { return topic.records() >= 2 })
		k.arrives(t, p, topic)
		p.Interrupt()
		p.Ends(t, farmtest.ExitInterrupted)
		if strings.Contains(p.Out.String(), "write to topic") {
			t.Errorf("an interruption is no failure:\n%s", p.Out.String())
		}
		p = k.follows(topic.name, k.b.address)
		k.arrives(t, p, topic)
		p.Kill()
		if n := topic.records(); n != 4 {
			t.Errorf("%d records of 4 rows: a broker that hangs, or an interruption, repeats lines", n)
		}
	})
	t.Run("a broker that is away", func(t *testing.T) {
		topic := k.b.create("away", 1, nil)
		p := k.reaches(t, topic)
		k.b.kill()
		k.insert(t, 10)
		k.says(p, "broker "+k.b.address+" does not answer: ")
		k.b.start()
		k.Await(p, "it continues", func() bool { return topic.records() == 2 })
		p.Kill()
	})
	t.Run("a topic that is taken away", func(t *testing.T) {
		topic := k.b.create("gone", 1, nil)
		p := k.reaches(t, topic)
		topic.remove()
		k.insert(t, 10)
		p.Ends(t, farmtest.ExitFailed)
		saysOnce(t, p, "write to topic gone", "the topic is gone", "create the topic, then start again with --state")
	})
	t.Run("a broker that loses what it acknowledged", func(t *testing.T) {
		topic := k.b.create("lost", 1, nil)
		p := k.reaches(t, topic)
		for range 4 {
			k.arrives(t, p, topic)
		}
		k.b.kill()
		cutLog(t, k.b.dir+"/data/lost-0")
		k.b.start()
		k.insert(t, 10)
		p.Ends(t, farmtest.ExitUnknown)
		saysOnce(t, p, "write to topic lost", "partition 0 lost records that it had acknowledged", "start again from a snapshot")
	})
}

// saysOnce checks that a program said one message, with these words in it.
func saysOnce(t *testing.T, p *farmtest.Background, words ...string) {
	t.Helper()
	said := p.Out.String()
	for _, w := range words {
		if !strings.Contains(said, w) {
			t.Errorf("it does not say %q", w)
		}
	}
	if n := strings.Count(said, "stowage: "); n != 1 || strings.Count(said, "\n  -> ") != 1 {
		t.Errorf("it says %d messages, want one of two lines", n)
	}
	if t.Failed() {
		t.Logf("it said:\n%s", said)
	}
}

// cutLog takes the second half of a partition's records away, as a disk does that lies about what it has written.
func cutLog(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(dir + "/*")
	must(t, err)
	cut := false
	for _, file := range files {
		switch filepath.Ext(file) {
		case ".log":
			info, err := os.Stat(file)
			must(t, err)
			must(t, os.Truncate(file, info.Size()/2))
			cut = true
		case ".index", ".timeindex", ".snapshot":
			must(t, os.Remove(file))
		}
	}
	if !cut {
		t.Fatalf("no log in %s: %v", dir, files)
	}
}

// addressOf is a server that clients write to.
func addressOf(t *testing.T, f *farmtest.LiveFarm) string {
	t.Helper()
	_, fm, _, err := farmtest.FarmAccess(f.Dir)
	must(t, err)
	for _, p := range fm.Pairs {
		return fm.Address(p.Sides[farm.A])
	}
	t.Fatal("no pairs")
	return ""
}
