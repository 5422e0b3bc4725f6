/* The cutover of a primary-replica pair: clients go from the primary P to the
 * new instance N, which replicates from it; afterwards P replicates from N, so
 * that the same cutover in the other direction is the way back.
 *
 * Phases and guards are named as in package move; models/guards.tsv says which
 * function holds each. A cutover is, in phases: close, drain, fence, kill,
 * lock, position, barrier, open, flip, unlock, release. Up to `open` everything
 * can be taken back; from then on it only goes forward, and which of the two
 * it is, is read from N itself: does it take writes?
 *
 * Clients: 0 follows the gate as docs/reference/routing.md says. 1 only follows the
 * route when it connects, and keeps its session (a router that cannot hold).
 * 2 does so with an account that read_only does not stop. 3 is the server's
 * event scheduler, which follows nobody.
 */

#ifndef WRITES_0
#define WRITES_0 0
#endif
#ifndef WRITES_1
#define WRITES_1 0
#endif
#ifndef WRITES_2
#define WRITES_2 0
#endif
#ifndef WRITES_3
#define WRITES_3 0
#endif
#ifndef KILLS
#define KILLS   0   /* kill -9 of the controller, then resume */
#endif
#ifndef CRASHES
#define CRASHES 0   /* of a server, which then starts again */
#endif
#ifndef FAILS
#define FAILS   0   /* a phase fails, by a time limit or an error */
#endif
#ifndef BADS
#define BADS    0   /* N does worse: the way back is taken */
#endif
#define EVENTS  (WRITES_0 + WRITES_1 + WRITES_2 + WRITES_3 + 1)
#define P    0
#define N    1
#define NONE 2

/* Servers */
bit  up[2] = 1, ro[2], file_ro[2], locked[2], scheduler[2], file_scheduler[2];
bit  barred[2];               /* accounts that read_only does not stop cannot log in: ALTER USER ... ACCOUNT LOCK, not logged */
byte source[2] = NONE, next_[2], logged[2], log_[2 * EVENTS];
byte pos[2];                  /* one domain: what it has written or applied */
byte has[2];
byte events, ev_seq[EVENTS], ev_id[EVENTS];

/* routing: whom it names, and the gate that the clients of a gated router wait at */
bit  serves, closed;

/* Clients */
byte open_[4] = NONE;         /* where it has a transaction or a running statement */
bit  killed[4];               /* its session was ended by the server */
bit  orphan;                  /* client 2 was killed too late: its commit goes on */
byte at2 = NONE;              /* where client 2 has its session */
byte acked[4], done[4], event[4] = EVENTS;
bit  ended[4];
bit  excused;                 /* something died or ran out of time: clients may see an error */

/* The controller */
mtype:step = { s_cutover, s_soak, s_undo, s_done, s_undone };
mtype:phase = { p_begin, p_close, p_drain, p_fence, p_kill, p_lock, p_position, p_barrier, p_open, p_flip, p_serve, p_unlock,
                p_release, p_backout, p_backout_gate, p_failed, p_finished };
mtype:step  step = s_cutover;
mtype:phase phase = p_begin;
byte goal;
bit  mine;                    /* it holds the lock, on a connection that lives */
byte late = NONE;             /* a SET GLOBAL read_only = ON whose sender has given up, and that still waits in the server */
byte kills = KILLS, crashes = CRASHES, fails = FAILS, bad = BADS;

#define FROM   (step == s_cutover -> P : N)
#define TO     (1 - FROM)
#define ENDED  (step == s_done || step == s_undone)
#define WAITS  (phase == p_barrier)

/* Guards that are conditions. */
#ifndef NO_DRAIN
#define DRAINED (open_[0] != FROM)
#else
#define DRAINED true
#endif
#ifndef NO_CATCH_UP
#define CAUGHT_UP (up[TO] && pos[TO] >= goal)
#else
#define CAUGHT_UP true
#endif
#ifndef NO_LOCK
#define LOCK 1
#else
#define LOCK 0
#endif
#ifndef NO_TRUTH
#define DECIDED (serves == TO || !ro[TO])
#else
#define DECIDED false
#endif

inline commit(s, k) {
	printf("server #%d: commits write %d of client %d\n", s, done[k] + 1, k);
	if :: event[k] != EVENTS -> printf("FAULT: this write has been applied before: twice\n"); assert(false) :: else fi;
	if
	:: (acked[k] & ~has[s]) != 0 -> printf("FAULT: client %d works on #%d, which lacks a write it was acknowledged\n", k, s); assert(false)
	:: else
	fi;
	pos[s]++; ev_seq[events] = pos[s]; ev_id[events] = s;
	log_[s*EVENTS+logged[s]] = events; logged[s]++;
	has[s] = has[s] | (1 << events); event[k] = events; events++
}
inline acknowledge(k) {
	acked[k] = acked[k] | (1 << event[k]);
	event[k] = EVENTS; done[k]++;
	printf("client %d: write %d is acknowledged\n", k, done[k])
}
#define REFUSED(k, s) (ro[s] && (k) < 2)
#define HELD(s) locked[s]

/* Reads back what became of a COMMIT whose answer was lost. */
inline read_back(k) {
	if
	:: event[k] != EVENTS && (has[serves] >> event[k]) & 1 -> acknowledge(k)
	:: else -> printf("client %d: reads back from #%d: its write is not there\n", k, serves)
	fi
}

proctype gated() {
	byte at;
look:
	do
	:: done[0] == WRITES_0 -> break
	:: done[0] < WRITES_0 ->
		atomic { !closed -> at = serves; printf("client 0: looks: #%d\n", at) }
		atomic { if :: up[at] -> open_[0] = at; printf("client 0: first statement of a transaction on #%d\n", at) :: !up[at] -> goto lost fi }
#ifndef NO_SECOND_LOOK
		atomic {
			if
			:: closed || serves != at -> if :: open_[0] == at -> open_[0] = NONE :: else fi; printf("client 0: second look: changed, ROLLBACK\n"); goto look
			:: else
			fi
		}
#endif
		if
		:: atomic { open_[0] == at && !HELD(at) && !ro[at] -> commit(at, 0); open_[0] = NONE; acknowledge(0) }
		:: atomic { open_[0] == at && !HELD(at) && ro[at] -> open_[0] = NONE;
			if :: excused :: else -> printf("FAULT: COMMIT of client 0 fails with 1290 though nothing has gone wrong\n"); assert(false) fi;
			goto refused }
		:: atomic { open_[0] != at -> printf("client 0: its session is lost after COMMIT was sent\n");
			goto unknown }
		fi
	od;
	atomic { ended[0] = 1; goto over }
refused: atomic { !ro[at] || closed || serves != at || !up[at] -> at = 0; goto look }
lost:    atomic { up[at] || closed || serves != at -> at = 0; goto look }
unknown: atomic { !closed && up[serves] -> read_back(0); at = 0; goto look }
over:	skip
}

/* A client that follows the route when it connects, k 1 or 2. An ordinary one
 * may take as long as it likes to connect. */
proctype pinned(byte k) {
	byte at;
	atomic { if :: (k == 1 && WRITES_1 == 0) || (k == 2 && WRITES_2 == 0) -> ended[k] = 1; goto over :: else fi }
look:
	atomic { at = serves;
		if
		:: k == 2 && up[at] && !barred[at] -> at2 = at; printf("client %d: connects to #%d\n", k, at); goto work
		:: k == 2 && (!up[at] || barred[at]) -> goto lost
		:: k != 2
		fi }
	atomic { if :: up[at] -> printf("client %d: connects to #%d\n", k, at) :: !up[at] -> goto lost fi }
work:
	do
	:: atomic { (k == 1 && done[k] == WRITES_1) || (k == 2 && done[k] == WRITES_2) -> break }
	:: atomic { killed[k] || !up[at] -> killed[k] = 0; if :: k == 2 -> at2 = NONE :: else fi; goto lost }
	:: atomic { ((k == 1 && done[k] < WRITES_1) || (k == 2 && done[k] < WRITES_2)) && !killed[k] && up[at] ->
			open_[k] = at; printf("client %d: sends a write to #%d\n", k, at) }
		if
		:: atomic { open_[k] == at && !killed[k] && !HELD(at) && !REFUSED(k, at) -> commit(at, k); open_[k] = NONE; acknowledge(k) }
		:: atomic { open_[k] == at && !HELD(at) && REFUSED(k, at) -> open_[k] = NONE; printf("client %d: is refused with 1290, and connects anew\n", k); goto refused }
		:: atomic { open_[k] != at || killed[k] -> killed[k] = 0; if :: k == 2 -> at2 = NONE :: else fi; printf("client %d: its session is lost\n", k); goto unknown }
		fi
	od;
	atomic { ended[k] = 1; goto over }
refused: atomic { !ro[at] || serves != at || !up[at] -> at = 0; goto look }
lost:    atomic { up[serves] && !(k == 2 && barred[serves]) -> at = 0; goto look }
unknown: atomic { up[serves] && !(k == 2 && (barred[serves] || open_[2] == serves)) -> read_back(k); at = 0; goto look }
over:	skip
}

/* The event scheduler, with an account that read_only does not stop. */
inline fire(s) {
	commit(s, 3); acknowledge(3)
}
proctype scheduled() {
end:	do
	:: atomic { done[3] < WRITES_3 && up[P] && scheduler[P] && !locked[P] -> fire(P) }
	:: atomic { done[3] < WRITES_3 && up[N] && scheduler[N] && !locked[N] -> fire(N) }
	:: atomic { done[3] == WRITES_3 -> break }
	od
}

inline replicate(r) {
	e = log_[source[r]*EVENTS+next_[r]]; next_[r]++;
	if
	:: ev_id[e] == r || ev_seq[e] <= pos[r]
	:: else ->
		if :: (has[r] >> e) & 1 -> printf("FAULT: #%d applies an event twice\n", r); assert(false) :: else fi;
		pos[r] = ev_seq[e]; has[r] = has[r] | (1 << e);
		log_[r*EVENTS+logged[r]] = e; logged[r]++;
		printf("server #%d: applies a write from #%d\n", r, source[r])
	fi;
	e = 0
}
#define CAN_REPLICATE(r) (up[r] && source[r] != NONE && up[1-r] && next_[r] < logged[1-r])

inline end_sessions(s) {
	k = 0;
	do
	:: k < 3 ->
		if
		:: open_[k] == s && !(k == 2 && orphan && up[s]) -> open_[k] = NONE; killed[k] = 1
		:: open_[k] == s && k == 2 && up[s] && !orphan -> orphan = 1; killed[k] = 1; printf("server #%d: KILL comes too late, client 2 is committing\n", s)
		:: open_[k] != s && k == 2 && at2 == s -> killed[k] = 1 /* an idle session */
		:: else
		fi;
		k++
	:: else -> break
	od;
	k = 0
}
inline die(s) {
	crashes--; up[s] = 0; locked[s] = 0; excused = 1; if :: orphan && open_[2] == s -> orphan = 0 :: else fi; printf("server #%d: dies\n", s);
	end_sessions(s);
	if :: late == s -> late = NONE :: else fi;
	if :: FROM == s -> mine = 0 :: else fi
}
inline restart(s) {
	up[s] = 1; ro[s] = file_ro[s]; scheduler[s] = file_scheduler[s];
	printf("server #%d: starts again, read_only is %d\n", s, ro[s])
}
proctype world() {
	byte e, k;
end:	do
	:: atomic { CAN_REPLICATE(P) -> replicate(P) }
	:: atomic { CAN_REPLICATE(N) -> replicate(N) }
	:: atomic { crashes > 0 && up[P] -> die(P) }
	:: atomic { crashes > 0 && up[N] -> die(N) }
	:: atomic { !up[P] -> restart(P) }
	:: atomic { !up[N] -> restart(N) }
	:: atomic { orphan && open_[2] != NONE && !locked[open_[2]] -> orphan = 0; commit(open_[2], 2); open_[2] = NONE }
	:: atomic { late != NONE -> ro[late] = 1; printf("server #%d: a SET GLOBAL read_only = ON that nobody waits for any more is carried out\n", late); late = NONE }
#ifndef NO_LOCK_EXPIRES
	/* The session that locks has a short wait_timeout: the server ends it by itself. */
	:: atomic { locked[P] && !mine -> locked[P] = 0; printf("server #0: the lock of a session without a client is released\n") }
	:: atomic { locked[N] && !mine -> locked[N] = 0; printf("server #1: the lock of a session without a client is released\n") }
#endif
	od
}

inline set_read_only(s, on) {
#ifndef NO_OWN_STATEMENT_ENDED
	if :: late == s -> late = NONE :: else fi;
#endif
	ro[s] = on;
	if
#ifdef NO_FENCE_LASTS
	:: on
#endif
#ifdef NO_OPEN_LASTS
	:: !on
#endif
	:: else -> file_ro[s] = on; file_scheduler[s] = !on
	fi
}
inline at_begin() { goal = 0; phase = p_begin; printf("stowage: step %e\n", step) }
inline maybe_late() {
	if
	:: phase == p_fence && up[FROM] && late == NONE -> late = FROM; printf("stowage: its SET GLOBAL read_only = ON still waits in #%d\n", FROM)
	:: true
	fi
}
#define RETURNS (phase == p_close || phase == p_drain || phase == p_fence || phase == p_kill || phase == p_lock || phase == p_position || phase == p_barrier || phase == p_open && !DECIDED)

proctype stowage() {
	byte k;
	do
	:: atomic { ENDED -> printf("stowage: ended, %e\n", step); break }
	:: atomic { kills > 0 && !ENDED ->
		kills--; excused = 1; printf("stowage: is killed in %e at %e, and resumed\n", step, phase); maybe_late();
		if :: mine && locked[FROM] -> locked[FROM] = 0 :: true fi; /* the server notices at once, or later */
		mine = 0; at_begin() }
	:: atomic { fails > 0 && RETURNS ->
		fails--; excused = 1; printf("stowage: %e fails\n", phase); maybe_late(); phase = p_backout }

	/* The truth is read first: once routing names TO there is no way but forward. */
	:: atomic { phase == p_begin && (step == s_cutover || step == s_undo) ->
		phase = (DECIDED -> p_open : p_close)
		}
	:: atomic { phase == p_close ->
#ifndef NO_HOLD
		closed = 1;
#endif
		printf("stowage: %e: close\n", step); phase = p_drain }
	:: atomic { phase == p_drain && !up[FROM] -> phase = p_backout }
	:: atomic { phase == p_drain && up[FROM] && DRAINED -> printf("stowage: %e: drain\n", step); phase = p_fence }
	:: atomic { phase == p_fence && !up[FROM] -> phase = p_backout }
	:: atomic { phase == p_fence && up[FROM] ->
#ifndef NO_BARRED
		barred[FROM] = 1;
#endif
#ifndef NO_EVENTS_OFF
		scheduler[FROM] = 0;
#endif
#ifndef NO_FENCE
		set_read_only(FROM, 1);
#endif
		printf("stowage: %e: fence #%d\n", step, FROM); phase = p_kill }
	:: atomic { phase == p_kill && !up[FROM] -> phase = p_backout }
	:: atomic { phase == p_kill && up[FROM] ->
#ifndef NO_KILL
		end_sessions(FROM);
#endif
		printf("stowage: %e: kill\n", step);
#ifndef NO_POSITION_AFTER_LOCK
		phase = (LOCK -> p_lock : p_position)
#else
		phase = p_position
#endif
		}
	:: atomic { phase == p_lock && !up[FROM] -> phase = p_backout }
	:: atomic { phase == p_lock && up[FROM] && !locked[FROM] && !(orphan && open_[2] == FROM) -> locked[FROM] = 1; mine = 1; printf("stowage: %e: lock\n", step);
#ifndef NO_POSITION_AFTER_LOCK
		phase = p_position
#else
		phase = p_barrier
#endif
		}
	:: atomic { phase == p_position && !up[FROM] -> phase = p_backout }
	:: atomic { phase == p_position && up[FROM] -> goal = pos[FROM]; printf("stowage: %e: position %d\n", step, goal);
#ifndef NO_POSITION_AFTER_LOCK
		phase = p_barrier
#else
		phase = p_lock
#endif
		}
	:: atomic { phase == p_barrier && CAUGHT_UP -> printf("stowage: %e: barrier\n", step); goal = 0; phase = p_open }
	:: atomic { phase == p_barrier && (!up[TO] || timeout) && pos[TO] < goal -> printf("stowage: barrier fails\n"); phase = p_backout }
	:: atomic { phase == p_open && !up[TO] && !DECIDED -> phase = p_backout }
	:: atomic { phase == p_open && up[TO] ->
		source[TO] = NONE; set_read_only(TO, 0); scheduler[TO] = 1; barred[TO] = 0; printf("stowage: %e: open #%d\n", step, TO); phase = p_flip }
	/* One replacement of the table: whom it names, and the gate. Nobody waits for what is done to the old server after that. */
	:: atomic { phase == p_flip -> closed = 0;
#ifndef NO_ONE_FLIP
		serves = TO; printf("stowage: %e: flip to #%d, gate opened\n", step, serves); phase = p_unlock
#else
		printf("stowage: %e: flip: gate opened\n", step); phase = p_serve
#endif
		}
	:: atomic { phase == p_serve -> serves = TO; printf("stowage: %e: flip to #%d\n", step, serves); phase = p_unlock }
	:: atomic { phase == p_unlock && up[FROM] ->
		if :: mine -> locked[FROM] = 0; mine = 0 :: else fi;
#ifndef NO_FENCE
		set_read_only(FROM, 1); /* again, whatever happened since */
#endif
#ifndef NO_REVERSE
		source[FROM] = TO; next_[FROM] = 0;
#endif
		printf("stowage: %e: unlock, #%d follows #%d\n", step, FROM, TO); phase = p_release }
	/* changes nothing: reads back that nobody is held */
	:: atomic { phase == p_release -> if :: closed || serves != TO -> printf("FAULT: routing does not show what was decided\n"); assert(false) :: else fi;
		printf("stowage: %e: release\n", step); phase = p_finished }
	:: atomic { phase == p_finished ->
		if :: step == s_cutover -> step = s_soak :: step == s_undo -> step = s_undone fi; at_begin() }
	:: atomic { phase == p_begin && step == s_soak -> step = s_done; at_begin() }
	:: atomic { phase == p_begin && step == s_soak && bad > 0 -> bad--; printf("stowage: the way back is taken\n"); step = s_undo; at_begin() }

	/* what was done before the flip is taken back */
	:: atomic { phase == p_backout && up[FROM] ->
#ifndef NO_BACKOUT_OPENS
		set_read_only(FROM, 0); scheduler[FROM] = 1; barred[FROM] = 0;
#endif
#ifndef NO_BACKOUT_UNLOCKS
		if :: mine -> locked[FROM] = 0; mine = 0 :: else fi;
#endif
		printf("stowage: %e: backs out\n", step); phase = p_backout_gate }
	:: atomic { phase == p_backout_gate ->
#ifndef NO_BACKOUT_GATE
		closed = 0;
#endif
		phase = p_failed }
	:: atomic { phase == p_failed -> at_begin() }
	:: atomic { phase == p_failed -> printf("stowage: gives up\n"); step = (step == s_cutover -> s_undone : s_done); at_begin() }
	od
}

#define MUST(condition, fault) if :: condition :: else -> printf(fault); assert(false) fi
proctype judge() {
	byte s, k;
	atomic {
		timeout && !WAITS ->
		s = (step == s_done -> N : P);
		do
		:: k < 4 -> MUST(((acked[k] & ~has[s]) == 0), "FAULT: an acknowledged write is lost\n"); k++
		:: else -> break
		od;
#ifndef LOSS_ONLY
		MUST((ENDED), "FAULT: the controller waits for ever\n");
		MUST((serves == s), "FAULT: routing does not name the server that the act ended with\n");
		MUST((!closed), "FAULT: writes are held and nobody will release them\n");
		MUST((!ro[s] && !barred[s] && scheduler[s]), "FAULT: the server that serves is left fenced\n");
		MUST((!locked[P] && !locked[N]), "FAULT: a server is left locked\n");
		MUST((ro[1-s] && !scheduler[1-s]), "FAULT: two servers take writes\n");
		MUST((source[1-s] == s && source[s] == NONE), "FAULT: the other server does not follow the one that serves\n");
		MUST((ended[0] && ended[1] && ended[2]), "FAULT: a client waits for ever\n");
		MUST((has[P] == has[N]), "FAULT: the two servers differ\n")
#endif
	}
}

init {
	atomic {
		source[N] = P; ro[N] = 1; file_ro[N] = 1; scheduler[P] = 1; file_scheduler[P] = 1;
		run stowage(); run gated(); run pinned(1); run pinned(2); run scheduled(); run world(); run judge()
	}
}
