/* The swing: one side of an active-active pair is replaced by a new instance.
 *
 * A is the old side, B its twin, N the new instance, already seeded from B and
 * following it. The controller does what packages swing and move do from `out`
 * to `retire`, phase by phase, and may be killed between any two of them; the
 * engine's durable state (step) survives, everything else is read anew.
 *
 * Checked: no acknowledged write is lost, none is applied twice, nothing is
 * left fenced, and a client that follows docs/reference/routing.md never works on a
 * server that lacks a write it was acknowledged. models/README.md says what is
 * left out. Each guard is one NO_<GUARD>, listed in models/guards.tsv.
 */

#ifndef WRITES_0
#define WRITES_0 0  /* of the client that runs transactions */
#endif
#ifndef WRITES_1
#define WRITES_1 0  /* of the client that runs single statements */
#endif
#ifndef KILLS
#define KILLS   0   /* kill -9 of the controller, then resume */
#endif
#ifndef CRASHES
#define CRASHES 0   /* of a server, which then starts again */
#endif
#ifndef FAILS
#define FAILS   0   /* a phase fails, by a time limit or an error, or a flip says it failed and did not */
#endif
#ifndef CUTS
#define CUTS    0   /* a client's connection lost while the server commits */
#endif
#ifndef SLEEPS
#define SLEEPS  0   /* a single statement that comes later than the 20 ms of docs/reference/routing.md */
#endif
#ifndef BADS
#define BADS    0   /* the side that came back does worse than its twin, and is taken out again */
#endif
#define EVENTS  (WRITES_0 + WRITES_1 + 1)

#define A    0
#define B    1
#define N    2
#define NONE 3

#ifndef NO_OWN_DOMAIN
#define DOMAIN(s) ((s) == B)     /* N takes over the domain of the side it replaces */
#else
#define DOMAIN(s) 0
#endif
#ifndef NO_OWN_SERVER_ID
#define ID(s) (s)
#else
#define ID(s) ((s) == N -> A : (s))
#endif

/* Servers. Position of server s in domain d: [2*s + d]. */
bit  up[3] = 1, ro[3], file_ro[3], gone[3];  /* file_ro: how the option file lets it start */
bit  temporary = 1;                           /* N has the options of an instance that nobody knows yet */
byte source[3];                              /* whom it replicates from */
bit  runs[3] = 1;                            /* its replica threads run */
byte applied[6], written[6];                 /* gtid_slave_pos, gtid_binlog_pos */
byte logged[3], next_[3];                    /* length of its binary log; what it reads next of its source's */
byte log_[3 * EVENTS];
byte has[3];                                 /* the events whose rows it holds, one bit each */

/* Events: one committed transaction each. */
byte events, ev_domain[EVENTS], ev_seq[EVENTS], ev_id[EVENTS], ev_key[EVENTS];

/* routing.json: the gate of side A, and who serves each of two clients of A. */
bit  closed;
byte serves[2];
bit  first;                                  /* whose slots the first share of `in` takes */

/* Clients: 0 runs transactions with a second look, 1 single statements. */
byte open_[2] = NONE;                        /* where it has work that the server shows */
bit  orphan[2];                              /* its connection is gone, the server continues with that work */
bit  looked;                                 /* client 1 has looked, in time, and not sent yet */
bit  overslept;                              /* client 1 has broken rule 1 once */
byte acked[2];                               /* the events it was told of, one bit each */
byte done[2];                                /* its writes that are finished */
byte event[2] = EVENTS;                      /* the event of the write under way, once it is committed */
bit  ended[2];

/* The controller. step is what the engine keeps. */
mtype:step = { s_out, s_rewire, s_check, s_in, s_retire, s_undo_in, s_undo_rewire, s_undo_out, s_done, s_undone, s_stuck };
mtype:phase = { p_begin, p_afterwards, p_ready, p_close, p_drain, p_fence, p_barrier, p_wait, p_open, p_flip, p_serve, p_watch,
                p_backout, p_backout_gate, p_failed, p_finished,
                p_rewire_wait, p_repoint, p_bring_up, p_follow, p_settle, p_stop };
mtype:handover = { h_none, h_out, h_in, h_undo_in, h_undo_out };
mtype:step     step = s_out;
mtype:phase    phase = p_begin;
mtype:handover kind = h_none;
byte share;                /* of a handover: 1 the first slots, 2 all */
bit  worse;                /* `in` is taken back because the side does worse */
byte goal[2];              /* the position that is waited for */
byte late = NONE;          /* a SET GLOBAL read_only = ON whose sender has given up, and that still waits in the server */

byte bad = BADS, kills = KILLS, crashes = CRASHES, fails = FAILS, cuts = CUTS, sleeps = SLEEPS;

#define FROM   (kind == h_out -> A : (kind == h_undo_in -> N : B))
#define TO     (kind == h_in -> N : (kind == h_undo_out -> A : B))
#define FENCES (kind == h_out || kind == h_undo_in)
#define OPENS  (kind == h_in || kind == h_undo_out)
#define SERVED (serves[first] == TO && (share == 1 || serves[1 - first] == TO))
#define HOLDS(s, d, q) (applied[2*(s)+(d)] >= (q) || written[2*(s)+(d)] >= (q))
#define REACHED(s) (HOLDS(s, 0, goal[0]) && HOLDS(s, 1, goal[1]))
#define WAITS  (phase == p_wait || phase == p_rewire_wait || phase == p_bring_up)
#define ENDED  (step == s_done || step == s_undone || step == s_stuck)

/* A transaction of client k commits on server s. */
inline commit(s, k) {
	printf("server #%d: commits write %d of client %d\n", s, done[k] + 1, k);
	if
	:: event[k] != EVENTS -> printf("FAULT: this write has been applied before: twice\n"); assert(false)
	:: else
	fi;
	if
	:: (acked[k] & ~has[s]) != 0 && !(k == 1 && overslept) ->
		printf("FAULT: client %d works on #%d, which lacks a write it was acknowledged: what it writes may undo that\n", k, s); assert(false)
	:: else
	fi;
	ev_domain[events] = DOMAIN(s); ev_id[events] = ID(s); ev_key[events] = k;
	ev_seq[events] = 1 + (applied[2*s+DOMAIN(s)] > written[2*s+DOMAIN(s)] -> applied[2*s+DOMAIN(s)] : written[2*s+DOMAIN(s)]);
	written[2*s+DOMAIN(s)] = ev_seq[events];
	log_[s*EVENTS+logged[s]] = events; logged[s]++;
	has[s] = has[s] | (1 << events);
	event[k] = events; events++
}
inline acknowledge(k) {
	acked[k] = acked[k] | (1 << event[k]);
	event[k] = EVENTS; done[k]++;
	printf("client %d: write %d is acknowledged\n", k, done[k])
}

/* Rules 1 to 5 of docs/reference/routing.md, with a second look. */
proctype transactions() {
	byte at;
look:
	do
	:: done[0] == WRITES_0 -> break
	:: done[0] < WRITES_0 ->
		atomic { !closed -> at = serves[0]; printf("client 0: looks: #%d\n", at) }
		atomic {
			if
			:: up[at] -> open_[0] = at; printf("client 0: first statement of a transaction on #%d\n", at)
			:: !up[at] -> goto lost
			fi
		}
#ifndef NO_SECOND_LOOK
		atomic {
			if
			:: closed || serves[0] != at -> printf("client 0: second look: changed, ROLLBACK\n");
				if :: open_[0] == at -> open_[0] = NONE :: else fi; at = 0; goto look
			:: else -> printf("client 0: second look: the same\n")
			fi
		}
#endif
sent:	if /* COMMIT is on its way */
		:: atomic { open_[0] == at && !ro[at] -> commit(at, 0); open_[0] = NONE; acknowledge(0); at = 0 }
		:: atomic { open_[0] == at && ro[at] -> printf("client 0: COMMIT is refused with 1290\n"); open_[0] = NONE; goto refused }
		:: atomic { open_[0] == at && cuts > 0 -> cuts--; orphan[0] = 1; printf("client 0: connection lost after COMMIT was sent\n"); goto unknown }
		:: atomic { open_[0] != at -> printf("client 0: the server is lost after COMMIT was sent\n"); goto unknown }
		fi
	od;
	atomic { ended[0] = 1; goto over }
refused:
	atomic { !ro[at] || closed || serves[0] != at || !up[at] -> at = 0; goto look }
lost:
	atomic { up[at] || closed || serves[0] != at -> at = 0; goto look }
unknown:
#ifndef NO_READ_BACK
#ifndef NO_READ_BACK_LOCKS
	atomic { !closed && up[serves[0]] && open_[0] != serves[0] ->
#else
	atomic { !closed && up[serves[0]] ->
#endif
		if
		:: event[0] != EVENTS && (has[serves[0]] >> event[0]) & 1 -> printf("client 0: reads back from #%d: it is there\n", serves[0]); acknowledge(0)
		:: else -> printf("client 0: reads back from #%d: it is not there\n", serves[0])
		fi;
		at = 0; goto look
	}
#else
	atomic { at = 0; goto look }
#endif
over:	skip
}

/* The same without a second look: one statement outside a transaction. */
proctype statements() {
	byte at;
look:
	do
	:: done[1] == WRITES_1 -> break
	:: done[1] < WRITES_1 ->
		atomic { !closed -> at = serves[1]; looked = 1; printf("client 1: looks: #%d\n", at) }
sent:	if
		:: atomic { up[at] && !ro[at] -> looked = 0; commit(at, 1); acknowledge(1); at = 0 }
		:: atomic { up[at] && ro[at] -> looked = 0; printf("client 1: is refused with 1290\n"); goto refused }
		:: atomic { up[at] && !ro[at] && cuts > 0 && !overslept -> cuts--; looked = 0; open_[1] = at; orphan[1] = 1;
			printf("client 1: connection lost during its statement\n"); goto unknown }
		:: atomic { !up[at] -> looked = 0; goto lost }
		:: atomic { looked && sleeps > 0 -> sleeps--; looked = 0;
#ifndef NO_PUNCTUAL
			overslept = 1;
#endif
			printf("client 1: sleeps for long\n"); goto sent }
		fi
	od;
	atomic { ended[1] = 1; goto over }
refused:
	atomic { !ro[at] || closed || serves[1] != at || !up[at] -> at = 0; goto look }
lost:
	atomic { up[at] || closed || serves[1] != at -> at = 0; goto look }
unknown:
	atomic { !closed && up[serves[1]] && open_[1] != serves[1] ->
		if
		:: event[1] != EVENTS && (has[serves[1]] >> event[1]) & 1 -> printf("client 1: reads back from #%d: it is there\n", serves[1]); acknowledge(1)
		:: else -> printf("client 1: reads back from #%d: it is not there\n", serves[1])
		fi;
		at = 0; goto look
	}
over:	skip
}

/* Replica r applies or skips the next event of its source. */
inline replicate(r) {
	e = log_[source[r]*EVENTS+next_[r]]; next_[r]++;
	if
	:: ev_id[e] == ID(r) -> /* its own, come round the ring */
		if :: ev_seq[e] > applied[2*r+ev_domain[e]] -> applied[2*r+ev_domain[e]] = ev_seq[e] :: else fi
	:: ev_id[e] != ID(r) && ev_seq[e] <= applied[2*r+ev_domain[e]] /* a duplicate: gtid_ignore_duplicates */
	:: ev_id[e] != ID(r) && ev_seq[e] > applied[2*r+ev_domain[e]] && ev_seq[e] <= written[2*r+ev_domain[e]] ->
		printf("server #%d: its applier stops: out of order (gtid_strict_mode)\n", r); next_[r]--; runs[r] = 0
	:: else ->
		applied[2*r+ev_domain[e]] = ev_seq[e];
		if
		:: (has[r] >> e) & 1 -> printf("FAULT: #%d applies an event twice\n", r); assert(false)
		:: else
		fi;
		has[r] = has[r] | (1 << e);
		printf("server #%d: applies a write of client %d from #%d\n", r, ev_key[e], source[r]);
#ifndef NO_LOG_UPDATES
		log_[r*EVENTS+logged[r]] = e; logged[r]++; written[2*r+ev_domain[e]] = ev_seq[e]
#endif
	fi;
	e = 0
}
#define CAN_REPLICATE(r) (up[r] && runs[r] && up[source[r]] && next_[r] < logged[source[r]] && \
	open_[ev_key[log_[source[r]*EVENTS+next_[r]]]] != r)

proctype replication() {
	byte e;
end:	do
	:: atomic { CAN_REPLICATE(A) -> replicate(A) }
	:: atomic { CAN_REPLICATE(B) -> replicate(B) }
	:: atomic { CAN_REPLICATE(N) -> replicate(N) }
	od
}

/* A replica asks its source for its whole position; a source that lacks part of
 * it answers with error 1236, and the replica never asks again. */
inline connect(r) {
	if
	:: applied[2*r] > written[2*source[r]] || applied[2*r+1] > written[2*source[r]+1] ->
		printf("server #%d: error 1236 from #%d\n", r, source[r]); runs[r] = 0
	:: else -> runs[r] = 1
	fi
}
/* A server dies and starts again: what was open on it is rolled back, what its
 * option file says is how it starts. */
inline die(s) {
	up[s] = 0;
	if :: open_[0] == s -> open_[0] = NONE; orphan[0] = 0 :: else fi;
	if :: open_[1] == s -> open_[1] = NONE; orphan[1] = 0 :: else fi;
	if :: late == s -> late = NONE :: else fi
}
inline restart(s) {
	up[s] = 1; ro[s] = file_ro[s];
	/* N starts without its replica threads for as long as it has its temporary options. */
	if :: s == N && temporary -> runs[s] = 0 :: else -> connect(s) fi;
	printf("server #%d: starts again, read_only is %d\n", s, ro[s])
}
inline orphaned(k) {
	orphan[k] = 0;
	if
	:: !ro[open_[k]] -> commit(open_[k], k)
	:: else -> printf("server #%d: rolls back what client %d left\n", open_[k], k)
	fi;
	open_[k] = NONE
}
proctype world() {
end:	do
	:: atomic { crashes > 0 && up[A] -> crashes--; die(A); printf("server #%d: dies\n", A) }
	:: atomic { crashes > 0 && up[B] -> crashes--; die(B); printf("server #%d: dies\n", B) }
	:: atomic { crashes > 0 && up[N] -> crashes--; die(N); printf("server #%d: dies\n", N) }
	:: atomic { !up[A] && !gone[A] -> restart(A) }
	:: atomic { !up[B] && !gone[B] -> restart(B) }
	:: atomic { !up[N] && !gone[N] -> restart(N) }
	:: atomic { orphan[0] && open_[0] != NONE -> orphaned(0) }
	:: atomic { orphan[1] && open_[1] != NONE -> orphaned(1) }
	:: atomic { late != NONE -> ro[late] = 1; printf("server #%d: a SET GLOBAL read_only = ON that nobody waits for any more is carried out\n", late); late = NONE }
	od
}

/* mysql.Server.SetReadOnly, and what has to come with it. */
inline set_read_only(s, on) {
#ifndef NO_OWN_STATEMENT_ENDED
	if :: late == s -> late = NONE :: else fi;
#endif
#ifndef NO_FENCE_LASTS
	if :: on -> file_ro[s] = 1 :: else fi;
#endif
#ifndef NO_OPEN_LASTS
	if :: !on -> file_ro[s] = 0; temporary = (s == N -> 0 : temporary) :: else fi;
#endif
	ro[s] = on
}

/* engine: the next step, and what follows on a failure. */
inline at_begin() {
	kind = h_none; share = 0; goal[0] = 0; goal[1] = 0; worse = 0; phase = p_begin;
	printf("stowage: step %e\n", step)
}
inline next_step() {
	if
#ifndef NO_REWIRE_FIRST
	:: step == s_out -> step = s_rewire
	:: step == s_check -> step = s_in
	:: step == s_in -> step = s_retire
	:: step == s_undo_in -> step = s_undo_rewire
	:: step == s_undo_rewire -> step = s_undo_out
#else
	:: step == s_out -> step = s_in
	:: step == s_in -> step = s_rewire
	:: step == s_check -> step = s_retire
	:: step == s_undo_rewire -> step = s_undo_in
	:: step == s_undo_in -> step = s_undo_out
#endif
	:: step == s_rewire -> step = s_check
	:: step == s_retire -> step = s_done
	:: step == s_undo_out -> step = s_undone; gone[N] = 1; up[N] = 0
	fi;
#ifdef NO_OLD_FOLLOWS
	if :: step == s_rewire -> runs[A] = 0 :: else fi;
#endif
	at_begin()
}
inline give_up() {
	if
	:: step == s_out -> step = s_undo_out
	:: step == s_rewire || step == s_check -> step = s_undo_rewire
	:: step == s_in -> step = s_undo_in
	:: step == s_undo_in || step == s_undo_rewire || step == s_undo_out -> step = s_stuck
	fi;
	at_begin()
}

/* swing.Swing.handOver and UndoIn: the truth is read first. */
#ifndef NO_UNDO_IN_BARRIER
#define UNDO_IN_NEXT p_barrier /* N serves nobody, and may have taken a write all the same */
#else
#define UNDO_IN_NEXT p_finished
#endif
#define NEVER_IN (!closed && serves[0] != N && serves[1] != N)
#ifndef NO_TRUTH
#define KNOWN_DONE (kind == h_undo_in && NEVER_IN || !closed && SERVED)
#else
#define KNOWN_DONE false
#endif
inline hand_over(k, sh) {
	kind = k; share = sh;
	if
	:: KNOWN_DONE -> phase = p_afterwards
	:: else -> phase = p_ready
	fi
}
inline serve() {
	if
#ifndef NO_FLIP_KEEPS
	:: SERVED
#endif
	:: else -> serves[first] = TO; serves[1 - first] = (share == 2 -> TO : B)
	fi;
	printf("stowage: %e flip: client 0 to #%d, client 1 to #%d\n", kind, serves[0], serves[1])
}
/* A statement whose sender died or gave up may still wait in the server. */
inline maybe_late() {
	if
	:: phase == p_fence && up[FROM] && late == NONE -> late = FROM; printf("stowage: its SET GLOBAL read_only = ON still waits in #%d\n", FROM)
	:: true
	fi
}
/* Conditions of the phases; each is a guard. */
#ifndef NO_SETTLE
#define SETTLED (!looked)
#else
#define SETTLED true
#endif
#ifndef NO_DRAIN
#define DRAINED (open_[0] != FROM && open_[1] != FROM)
#else
#define DRAINED true
#endif
#ifndef NO_BARRIER
#define CROSSED (up[TO] && REACHED(TO))
#else
#define CROSSED true
#endif
#ifndef NO_BACKOUT_TRUTH
#define FLIPPED (!closed && SERVED)
#else
#define FLIPPED false
#endif
#ifndef NO_REPOINT_WAITS
#define BROUGHT_UP (up[NEW_SOURCE] && REACHED(NEW_SOURCE))
#else
#define BROUGHT_UP true
#endif
#define IN_HANDOVER (phase == p_ready || phase == p_close || phase == p_drain || phase == p_fence || phase == p_barrier || phase == p_wait || phase == p_open || phase == p_flip)
#define NEW_SOURCE (step == s_rewire -> N : A)

proctype stowage() {
	do
	:: atomic { kills > 0 && !ENDED ->
		kills--; printf("stowage: is killed in %e at %e, and resumed\n", step, phase); maybe_late(); at_begin() }
	:: atomic { fails > 0 && IN_HANDOVER ->
		fails--; printf("stowage: %e %e fails\n", kind, phase); maybe_late();
		if
		:: phase == p_flip -> printf("stowage: but routing was replaced\n"); serve(); closed = 0
		:: true
		fi;
		phase = p_backout }
	:: atomic { fails > 0 && (phase == p_rewire_wait || phase == p_repoint || phase == p_bring_up || phase == p_follow) ->
		fails--; printf("stowage: %e %e fails\n", step, phase); phase = p_failed }
	:: atomic { ENDED -> printf("stowage: ended, %e\n", step); break }

	/* out, in and their undos: package swing */
	:: atomic { phase == p_begin && step == s_out -> hand_over(h_out, 2) }
	:: atomic { phase == p_begin && step == s_in && !worse -> hand_over(h_in, 1) }
	:: atomic { phase == p_begin && ((step == s_in && worse) || step == s_undo_in) -> hand_over(h_undo_in, 2) }
	:: atomic { phase == p_begin && step == s_undo_out -> hand_over(h_undo_out, 2) }
	:: atomic { phase == p_afterwards ->
		if
		:: (!OPENS || up[TO]) && (!FENCES || up[FROM]) ->
#ifndef NO_AFTERWARDS
			if :: OPENS -> set_read_only(TO, 0) :: else fi;
			if :: FENCES -> set_read_only(FROM, 1) :: else fi;
#endif
			printf("stowage: %e is done already\n", kind); phase = (kind == h_in -> p_watch : (kind == h_undo_in -> UNDO_IN_NEXT : p_finished))
		:: else -> phase = p_failed
		fi }
	:: atomic { phase == p_ready -> phase = (up[FROM] -> p_close : p_backout) }
	:: atomic { phase == p_close ->
#ifndef NO_GATE
		closed = 1;
#endif
		printf("stowage: %e close\n", kind); phase = p_drain }
	:: atomic { phase == p_drain && !up[FROM] -> phase = p_backout }
	:: atomic { phase == p_drain && up[FROM] && SETTLED && DRAINED -> printf("stowage: %e drain: nothing is open on #%d\n", kind, FROM); phase = (FENCES -> p_fence : p_barrier) }
	:: atomic { phase == p_fence && !up[FROM] -> phase = p_backout }
	:: atomic { phase == p_fence && up[FROM] ->
#ifndef NO_FENCE
		set_read_only(FROM, 1);
#endif
		printf("stowage: %e fence #%d\n", kind, FROM); phase = p_barrier }
	:: atomic { phase == p_barrier && !up[FROM] -> phase = p_backout }
	:: atomic { phase == p_barrier && up[FROM] ->
		goal[0] = written[2*FROM]; goal[1] = written[2*FROM+1]; phase = p_wait }
	:: atomic { phase == p_wait && CROSSED -> printf("stowage: %e barrier: #%d has what #%d has\n", kind, TO, FROM); goal[0] = 0; goal[1] = 0; phase = (OPENS -> p_open : p_flip) }
	:: atomic { phase == p_wait && (!up[TO] || !runs[TO] || timeout) && !REACHED(TO) ->
		printf("stowage: %e barrier fails: #%d does not get what #%d has\n", kind, TO, FROM); phase = p_backout }
	:: atomic { phase == p_open && !up[TO] -> phase = p_backout }
	:: atomic { phase == p_open && up[TO] ->
#ifndef NO_OPEN
		set_read_only(TO, 0);
#endif
		printf("stowage: %e open #%d\n", kind, TO); phase = p_flip }
#ifndef NO_ONE_FLIP
	:: atomic { phase == p_flip -> serve(); closed = 0; phase = (kind == h_in -> p_watch : p_finished) }
#else
	:: atomic { phase == p_flip -> closed = 0; printf("stowage: %e opens the gate\n", kind); phase = p_serve }
	:: atomic { phase == p_serve -> serve(); phase = (kind == h_in -> p_watch : p_finished) }
#endif
	:: atomic { phase == p_watch && up[B] && up[N] && runs[B] && runs[N] ->
		if
		:: share == 1 -> hand_over(h_in, 2)
		:: share == 2 -> phase = p_finished
		fi }
	:: atomic { phase == p_watch && (bad > 0 || !up[B] || !up[N] || !runs[B] || !runs[N]) ->
		if :: up[B] && up[N] && runs[B] && runs[N] -> bad-- :: else fi;
		printf("stowage: watch: the side does worse\n"); worse = 1; phase = p_begin }
	:: atomic { phase == p_backout && FLIPPED -> phase = p_failed }
	:: atomic { phase == p_backout && !FLIPPED && (!FENCES || up[FROM]) ->
#ifndef NO_BACKOUT_OPENS
		if :: FENCES -> set_read_only(FROM, 0) :: else fi;
#endif
		printf("stowage: %e backs out\n", kind); phase = p_backout_gate }
	/* swing.Swing.backOut cannot reach the server it would open */
#ifdef NO_BACKOUT_PERSISTS
	:: atomic { phase == p_backout && !FLIPPED && FENCES && !up[FROM] ->
		printf("stowage: %e backs out: #%d does not answer, the outcome is unknown\n", kind, FROM); step = s_stuck; at_begin() }
#endif
	:: atomic { phase == p_backout_gate ->
#ifndef NO_BACKOUT_GATE
		closed = 0; printf("stowage: %e backs out: the gate is open\n", kind);
#endif
		phase = p_failed }
	:: atomic { phase == p_failed && (!worse || step != s_in) -> at_begin() }
	:: atomic { phase == p_failed && step != s_retire -> give_up() }
	:: atomic { phase == p_finished ->
		if
		:: step == s_in && worse -> phase = p_failed
		:: else -> next_step()
		fi }

	/* rewire and its undo: package move */
	:: atomic { phase == p_begin && (step == s_rewire || step == s_undo_rewire) ->
		if
		:: !up[B] -> phase = p_failed
		:: up[B] && source[B] == NEW_SOURCE && runs[B] -> phase = p_finished
		:: else ->
			if
			:: step == s_undo_rewire -> phase = p_repoint
			:: step == s_rewire && up[A] -> goal[0] = written[2*A]; goal[1] = written[2*A+1]; phase = p_rewire_wait
			:: else -> phase = p_failed
			fi
		fi }
	:: atomic { phase == p_rewire_wait && up[N] && REACHED(N) -> phase = p_repoint }
	:: atomic { phase == p_rewire_wait && (!up[N] || !runs[N] || timeout) && !REACHED(N) -> phase = p_failed }
	:: atomic { phase == p_repoint && !up[B] -> phase = p_failed }
	:: atomic { phase == p_repoint && up[B] ->
		runs[B] = 0; goal[0] = applied[2*B]; goal[1] = applied[2*B+1]; printf("stowage: %e: STOP SLAVE on #1\n", step); phase = p_bring_up }
	:: atomic { phase == p_bring_up && BROUGHT_UP -> goal[0] = 0; goal[1] = 0; phase = p_follow }
	:: atomic { phase == p_bring_up && (!up[NEW_SOURCE] || !runs[NEW_SOURCE] || timeout) && !REACHED(NEW_SOURCE) ->
		runs[B] = up[B]; phase = p_failed }
	:: atomic { phase == p_follow && !up[B] -> phase = p_failed }
	:: atomic { phase == p_follow && up[B] ->
		source[B] = NEW_SOURCE; next_[B] = 0; connect(B);
		printf("stowage: %e: #1 follows #%d\n", step, source[B]); phase = (runs[B] && up[source[B]] -> p_finished : p_failed) }
	:: atomic { phase == p_begin && step == s_check ->
		if
		:: up[B] && up[N] && runs[B] && runs[N] && source[B] == N && source[N] == B -> phase = p_finished
		:: else -> printf("stowage: check fails\n"); phase = p_failed
		fi }

	/* retire: forward only */
	:: atomic { phase == p_begin && step == s_retire ->
		if
		:: serves[0] == N && serves[1] == N && !closed && source[B] == N -> phase = p_settle
		:: else -> printf("FAULT: retire finds the new instance not in place\n"); assert(false)
		fi }
	:: atomic { phase == p_settle -> file_ro[N] = 0; temporary = 0; printf("stowage: retire settle\n"); phase = p_stop }
	:: atomic { phase == p_stop -> die(A); gone[A] = 1; printf("stowage: retire stop #0\n"); phase = p_finished }
	od
}

/* When nothing can move any more, this is what must be true. The controller's
 * waits end before it: a wait without hope is an error of its step. */
#define MUST(condition, fault) if :: condition :: else -> printf(fault); assert(false) fi
proctype judge() {
	byte s;
	atomic {
		timeout && !WAITS ->
		MUST(((acked[0] & ~has[serves[0]]) == 0 && (acked[1] & ~has[serves[1]]) == 0), "FAULT: an acknowledged write is lost\n");
#ifndef LOSS_ONLY
		MUST((ENDED), "FAULT: the controller waits for ever\n");
		MUST((!closed), "FAULT: the gate is closed and nobody will open it\n");
		MUST((up[serves[0]] && up[serves[1]]), "FAULT: routing names a server that is gone\n");
		MUST((!ro[serves[0]] && !ro[serves[1]]), "FAULT: routing names a server that refuses writes: left fenced\n");
		MUST((ended[0] && ended[1]), "FAULT: a client waits for ever\n");
		MUST((step != s_stuck || fails < FAILS || crashes < CRASHES), "FAULT: the undo cannot be done though nothing failed\n");
		if
		:: step == s_stuck -> skip
		:: else ->
			s = (step == s_done -> N : A);
			MUST((serves[0] == s && serves[1] == s && !ro[B]), "FAULT: the pair does not serve on both sides\n");
			MUST((runs[s] && runs[B] && source[s] == B && source[B] == s), "FAULT: the pair does not replicate both ways\n");
			MUST((has[s] == has[B]), "FAULT: the sides differ, an acknowledged write is lost\n")
		fi
#endif
	}
}

init {
	atomic {
		source[A] = B; source[B] = A; source[N] = B; ro[N] = 1; file_ro[N] = 1;
		if :: first = 0 :: first = 1 fi;
		run stowage(); run transactions(); run statements(); run replication(); run world(); run judge()
	}
}
