package digest

// event is what a parser hands to the Builder. The byte slices belong to the parser and are only valid during the call.
type event struct {
	at        int64 // microseconds since the epoch, UTC; 0 unknown
	began     int64 // the same, where the source tells the beginning beside what it stamps events with; else 0
	queryTime wide  // nanoseconds
	timed     bool  // queryTime is known

	lockTime, engineTime uint64 // nanoseconds
	rowsSent             uint64
	rowsExamined         uint64
	rowsAffected         uint64
	bytesSent            uint64
	thread               uint64
	flags                uint32

	user, host, db name
	text           []byte // the statement, without its terminator
	fingerprint    []byte // when the parser already has it; else nil

	known *knownStatement        // when statements of its shape were seen before; else nil
	gaps  *[maxShapeGaps + 1]int // then: where the runs of digits and literals in text end
}

// isZero says whether the event tells nothing.
func (e *event) isZero() bool {
	return e.at == 0 && e.queryTime.isZero() && !e.timed && e.lockTime|e.engineTime|e.rowsSent|e.rowsExamined|e.rowsAffected|e.bytesSent|e.thread == 0 &&
		e.flags == 0 && len(e.user.text)+len(e.host.text)+len(e.db.text)+len(e.text)+len(e.fingerprint) == 0
}

// name is a name with its hash, which parsers remember from one event to the next.
type name struct {
	text []byte
	hash uint64
}

func named1(b []byte) name {
	if len(b) == 0 {
		return name{}
	}
	return name{b, hashBytes(b)}
}

// Flags of an event, as the slow log's Yes/No attributes tell them.
const (
	flagFullScan = iota
	flagFullJoin
	flagTmpTable
	flagTmpDisk
	flagFilesort
	flagFilesortDisk
	flagCacheHit
	flagError
	flagKilled
	flagAdmin
	flagCount
)

// flagNames are the names of the counts in reports.
var flagNames = [flagCount]string{
	"full_scan", "full_join", "tmp_table", "tmp_table_on_disk", "filesort", "filesort_on_disk", "query_cache_hit",
	"error", "killed", "admin",
}
