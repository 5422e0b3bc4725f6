/* The alter: the tables of an active-active pair change on one side after the other, and the second side applies nothing
 * of the first until it has its new tables, too (runbook `held` of package alter).
 *
 * A leaves and is altered first, B is its twin. The controller does what packages alter and swing do from `out` to
 * `twin-in`, phase by phase, and may be killed between any two of them; a person may give the run up. The engine's
 * durable state (step) survives, everything else is read anew.
 *
 * The change adds a column at the end. A client writes it if and only if its server has it. A row of the new shape that is
 * applied to the old table loses the value, without an error; a row of the old shape is right on the new table.
 *
 * Checked: no acknowledged write is lost, none is applied twice, no value of the new column is lost, the rows of both
 * sides are equal at the end, nobody meets the old tables after somebody has met the new ones, and nothing is left fenced,
 * held or gated. What models/swing.pml has shown of every handover is not shown again: models/README.md.
 * Each guard is one NO_<GUARD>, listed in models/guards.tsv.
 */

#ifndef WRITES_0
#define WRITES_0 0  /* of a client of side A that runs transactions */
#endif
#ifndef WRITES_1
#define WRITES_1 0  /* of a client of side B that runs single statements */
#endif
#ifndef WRITES_2
#define WRITES_2 0  /* of a client of side A that runs single statements */
#endif
#ifndef KILLS
#define KILLS   0   /* kill -9 of the controller, then resume */
#endif
#ifndef ABORTS
#define ABORTS  0   /* a person gives the run up */
#endif
#ifndef CRASHES
#define CRASHES 0   /* of a server, which then starts again */
#endif
#ifndef FAILS
#define FAILS   0   /* a phase fails, by a time limit or an error, or a flip says it failed and did not */
#endif
#ifndef SLEEPS
#define SLEEPS  0   /* a single statement that comes later than the 20 ms of docs/reference/routing.md */
#endif
#ifndef BADS
#define BADS    0   /* the side that came back does worse than its twin, and is taken out again */
#endif
#ifndef NO_UNLOGGED
#define EVENTS  (WRITES_0 + WRITES_1 + WRITES_2 + 1)
#else
#define EVENTS  (WRITES_0 + WRITES_1 + WRITES_2 + 4)
#endif

#define A    0
#define B    1
#define NONE 2
#define CLIENTS 3
#define DDL  CLIENTS         /* ev_key of a change of the tables in the binary log */
#define HOME(k) ((k) == 1)   /* the side to which client k belongs */

/* Servers. Each writes in a domain of its own and follows the other. */
bit  up[2] = 1, ro[2], file_ro[2];           /* file_ro: how the option file lets it start */
bit  file_hold;                              /* B starts without replication (skip_slave_start) */
bit  is_new[2];                              /* its tables */
bit  receives[2] = 1, applies[2] = 1;        /* its two replica threads */
byte written[2];                             /* transactions of its own, as in its binary log */
byte received[2], applied[2];                /* transactions of its twin: in its relay log, in its tables */
byte log_[2 * EVENTS];
byte has[2], value[2];                       /* the events whose rows it has, and whose values of the new column; one bit each */
byte row[2 * CLIENTS];                       /* who wrote the row of client k last, as server s has it: [3*s + k], event + 1 */
byte late = NONE;                            /* an ALTER whose sender is gone, and that the server still carries out */
bit  late_to;

/* Events: one committed transaction each. */
byte events, ev_key[EVENTS];
byte valued;                                 /* those that carry a value of the new column, one bit each */

/* routing.json: the gates, and who serves the clients of each side */
bit  closed[2];
bit  serves[2];

/* Clients */
byte open_ = NONE;                           /* where client 0 has a transaction that the server shows */
bit  looked[CLIENTS];                        /* it has looked, in time, and not sent yet */
bit  sleeps_now[CLIENTS];                    /* its statement comes late */
bit  overslept[CLIENTS], excused[CLIENTS];   /* a statement of its came late; and nothing but its own second look would have stopped it */
byte acked[CLIENTS], done[CLIENTS];
bit  ended[CLIENTS];
bit  met;                                    /* somebody has met the new tables */

/* The controller. step is what the engine keeps. */
mtype:step = { s_out, s_alter, s_hold, s_switch, s_twin_alter, s_release, s_twin_in,
               s_undo_switch, s_undo_hold, s_undo_alter, s_undo_out, s_done, s_undone };
mtype:phase = { p_begin, p_afterwards, p_ready, p_close, p_drain, p_fence, p_barrier, p_wait, p_open, p_flip, p_watch,
                p_backout, p_backout_gate, p_failed, p_finished,
                p_option_file, p_hold_applier, p_alter, p_start, p_reopen, p_open_gates };
mtype:handover = { h_none, h_out, h_switch, h_twin_in, h_undo_twin_in, h_undo_out };
mtype:step     step = s_out;
mtype:phase    phase = p_begin;
mtype:handover kind = h_none;
bit  worse;                /* twin-in is taken back because the side does worse */
bit  onward;               /* the step that was to begin when a person gave the run up: 1 twin-alter */
byte goal;                 /* the position that is waited for */

byte bad = BADS, kills = KILLS, aborts = ABORTS, crashes = CRASHES, fails = FAILS, sleeps = SLEEPS;

#define FROM   (kind == h_out || kind == h_twin_in -> A : B)
#define TO     (1 - FROM)
#define FENCES (kind == h_out || kind == h_switch || kind == h_undo_twin_in)
#define OPENS  (kind == h_switch || kind == h_twin_in || kind == h_undo_out)
/* Whose clients a handover sends. */
#ifndef NO_BOTH_GATES
#define OF(home) (kind == h_switch || (home) == (kind == h_twin_in || kind == h_undo_twin_in))
#else
#define OF(home) ((home) == (kind == h_twin_in || kind == h_undo_twin_in))
#endif
#define SHUT   (OF(A) && closed[A] || OF(B) && closed[B])
#define SERVED (!SHUT && (!OF(A) || serves[A] == TO) && (!OF(B) || serves[B] == TO))
#define SWITCHED (!closed[A] && !closed[B] && serves[A] == A && serves[B] == A)
#define REACHED (applied[TO] >= goal)
#define WAITS  (phase == p_wait)
#define ENDED  (step == s_done || step == s_undone)
#define IS_ALTER (step == s_alter || step == s_twin_alter || step == s_undo_alter)
#define SIDE   (step == s_alter || step == s_undo_alter -> A : B) /* of steps that are no handover */
#define WANT   (step != s_undo_alter)

#define HELD   (file_hold || up[A] && !applies[A] || up[B] && !applies[B])

/* A transaction of client k commits on server s. */
inline commit(s, k) {
	printf("server #%d: commits write %d of client %d\n", s, done[k] + 1, k);
	if
	:: (acked[k] & ~has[s]) != 0 && !overslept[k] ->
		printf("FAULT: client %d works on #%d, which lacks a write it was acknowledged: what it writes may undo that\n", k, s); assert(false)
	:: else
	fi;
	if
	:: is_new[s] && !met && !sleeps_now[k] -> met = 1; printf("client %d: meets the new tables\n", k)
	:: !is_new[s] && met && !overslept[k] -> printf("FAULT: client %d meets the old tables, and clients have met the new ones: two schemas are in rotation\n", k); assert(false)
	:: else
	fi;
	/* Nothing stops a late statement on a side that others are served by, nor while a handover opens a side; then its
	 * row may differ. That is a matter of the moment in which both appliers catch up, and its client has to look to it:
	 * docs/reference/routing.md. A held applier makes that moment hours. */
	if
	:: sleeps_now[k] && (!HELD || closed[HOME(k)]) -> excused[k] = 1
	:: else
	fi;
	ev_key[events] = k;
	if :: is_new[s] && !sleeps_now[k] -> valued = valued | (1 << events); value[s] = value[s] | (1 << events) :: else fi;
	log_[s*EVENTS+written[s]] = events; written[s]++;
	has[s] = has[s] | (1 << events); row[CLIENTS*s+k] = events + 1;
	acked[k] = acked[k] | (1 << events); done[k]++; events++; sleeps_now[k] = 0;
	printf("client %d: write %d is acknowledged\n", k, done[k])
}

/* Rules 1 to 4 of docs/reference/routing.md. A client that is refused by the server that routing names, with its gate open, has met a
 * fence that should not be there. */
#define REFUSED(k, at) \
	printf("client %d: is refused with 1290\n", k); sleeps_now[k] = 0; \
	if \
	:: !closed[HOME(k)] && serves[HOME(k)] == at -> printf("FAULT: #%d is fenced, and routing names it to client %d\n", at, k); assert(false) \
	:: else \
	fi
proctype transactions() {
	byte at;
look:
	do
	:: done[0] == WRITES_0 -> break
	:: done[0] < WRITES_0 ->
		atomic { !closed[A] -> at = serves[A]; printf("client 0: looks: #%d\n", at) }
		atomic {
			if
			:: up[at] -> open_ = at; printf("client 0: first statement of a transaction on #%d\n", at)
			:: !up[at] -> goto lost
			fi
		}
		atomic {
			if
			:: closed[A] || serves[A] != at -> printf("client 0: second look: changed, ROLLBACK\n");
				if :: open_ == at -> open_ = NONE :: else fi; at = 0; goto look
			:: else -> printf("client 0: second look: the same\n")
			fi
		}
		if
		:: atomic { open_ == at && !ro[at] -> commit(at, 0); open_ = NONE; at = 0 }
		:: atomic { open_ == at && ro[at] -> open_ = NONE; REFUSED(0, at); at = 0 }
		:: atomic { open_ != at -> printf("client 0: the server is lost before COMMIT\n"); goto lost }
		fi
	od;
	atomic { ended[0] = 1; goto over }
lost:
	atomic { up[at] || closed[A] || serves[A] != at -> at = 0; goto look }
over:	skip
}
#define WRITES(k) (k == 1 -> WRITES_1 : WRITES_2)
proctype statements(byte k) {
	byte at;
look:
	do
	:: done[k] == WRITES(k) -> break
	:: done[k] < WRITES(k) ->
		atomic { !closed[HOME(k)] -> at = serves[HOME(k)]; looked[k] = 1; printf("client %d: looks: #%d\n", k, at) }
sent:	if
		:: atomic { up[at] && !ro[at] -> looked[k] = 0; commit(at, k); at = 0 }
		:: atomic { up[at] && ro[at] -> looked[k] = 0; REFUSED(k, at); at = 0 }
		:: atomic { !up[at] -> looked[k] = 0; sleeps_now[k] = 0; goto lost }
		:: atomic { looked[k] && sleeps > 0 -> sleeps--; looked[k] = 0; overslept[k] = 1; sleeps_now[k] = 1; printf("client %d: sleeps for long\n", k); goto sent }
		fi
	od;
	atomic { ended[k] = 1; goto over }
lost:
	atomic { up[at] || closed[HOME(k)] || serves[HOME(k)] != at -> at = 0; goto look }
over:	skip
}

/* Server r applies what it has received next. */
inline apply(r) {
	e = log_[(1-r)*EVENTS+applied[r]]; applied[r]++;
	if
	:: ev_key[e] == DDL ->
		if
		:: is_new[r] == ((valued >> e) & 1) -> applied[r]--; applies[r] = 0; printf("server #%d: its applier stops: the column is there, or not there, already\n", r)
		:: else -> is_new[r] = (valued >> e) & 1; printf("server #%d: applies the ALTER of #%d\n", r, 1 - r)
		fi
	:: else ->
		if :: (has[r] >> e) & 1 -> printf("FAULT: #%d applies an event twice\n", r); assert(false) :: else fi;
		has[r] = has[r] | (1 << e); row[CLIENTS*r+ev_key[e]] = e + 1;
		printf("server #%d: applies a write of client %d from #%d\n", r, ev_key[e], 1 - r);
		if
		:: ((valued >> e) & 1) && !is_new[r] -> printf("FAULT: #%d has the old tables: the value of the new column is lost there, without an error\n", r); assert(false)
		:: ((valued >> e) & 1) && is_new[r] -> value[r] = value[r] | (1 << e)
		:: else
		fi
	fi;
	e = 0
}
#define CAN_RECEIVE(r) (up[r] && receives[r] && up[1-r] && received[r] < written[1-r])
#define CAN_APPLY(r)   (up[r] && applies[r] && applied[r] < received[r])
proctype replication() {
	byte e;
end:	do
	:: atomic { CAN_RECEIVE(A) -> received[A]++ }
	:: atomic { CAN_RECEIVE(B) -> received[B]++ }
	:: atomic { CAN_APPLY(A) -> apply(A) }
	:: atomic { CAN_APPLY(B) -> apply(B) }
	od
}

/* START SLAVE. When both threads were stopped the server throws away what it has received and not applied. */
inline start(s) {
	if
	:: !receives[s] && !applies[s] && received[s] > applied[s] ->
		printf("server #%d: throws away what it has received and not applied\n", s); received[s] = applied[s];
		if
		:: !up[1-s] -> printf("FAULT: #%d is down, and nobody else has that\n", 1 - s); assert(false)
		:: else
		fi
	:: else
	fi;
	receives[s] = 1; applies[s] = 1
}
/* A server dies and starts again, as its option file says. */
inline die(s) {
	up[s] = 0; receives[s] = 0; applies[s] = 0; ro[s] = 0;
	if :: open_ == s -> open_ = NONE :: else fi;
	if :: late == s -> late = NONE; late_to = 0 :: else fi;
	printf("server #%d: dies\n", s)
}
inline restart(s) {
	up[s] = 1; ro[s] = file_ro[s];
	if
	:: s == B && file_hold
	:: else -> received[s] = applied[s]; receives[s] = 1; applies[s] = 1
	fi;
	printf("server #%d: starts again, read_only is %d, it replicates: %d\n", s, ro[s], applies[s])
}
proctype world() {
end:	do
	:: atomic { crashes > 0 && up[A] -> crashes--; die(A) }
	:: atomic { crashes > 0 && up[B] -> crashes--; die(B) }
	:: atomic { !up[A] -> restart(A) }
	:: atomic { !up[B] -> restart(B) }
	:: atomic { late != NONE && open_ != late -> is_new[late] = late_to;
		if :: !late_to -> value[late] = 0 :: else fi;
		printf("server #%d: an ALTER that nobody waits for any more ends: its tables are new: %d\n", late, late_to); late = NONE; late_to = 0 }
	od
}

/* swing.Swing.fence and open: the option file, and the server, where it is up. */
inline set_read_only(s, on) {
	file_ro[s] = on;
	if :: up[s] -> ro[s] = on :: else fi
}
/* mysql.Server.HoldApplier */
inline hold(s) {
	applies[s] = 0;
#ifdef NO_APPLIER_ALONE
	receives[s] = 0;
#endif
	printf("stowage: %e: the applier of #%d stands still\n", step, s)
}
#ifndef NO_HOLD
#define HOLD_B hold(B)
#else
#define HOLD_B skip
#endif

/* engine: the next step, and what follows on a failure. */
inline at_begin() {
	kind = h_none; goal = 0; worse = 0; phase = p_begin;
	printf("stowage: step %e\n", step)
}
inline next_step() {
	if
	:: step == s_out -> step = s_alter
	:: step == s_alter -> step = s_hold
	:: step == s_hold -> step = s_switch
#ifndef NO_ALTER_BEFORE_RELEASE
	:: step == s_switch -> step = s_twin_alter
	:: step == s_twin_alter -> step = s_release
	:: step == s_release -> step = s_twin_in
#else
	:: step == s_switch -> step = s_release
	:: step == s_release -> step = s_twin_alter
	:: step == s_twin_alter -> step = s_twin_in
#endif
	:: step == s_twin_in -> step = s_done
	:: step == s_undo_switch -> step = s_undo_hold
	:: step == s_undo_hold -> step = s_undo_alter
	:: step == s_undo_alter -> step = s_undo_out
	:: step == s_undo_out -> step = s_undone
	fi;
	onward = 0;
	at_begin()
}
#define MAY_END (step == s_out || step == s_alter || step == s_hold || step == s_switch)
inline give_up() {
	if
	:: step == s_out -> step = s_undo_out
	:: step == s_alter -> step = s_undo_alter
	:: step == s_hold -> step = s_undo_hold
	:: step == s_switch -> step = s_undo_switch
	:: step == s_twin_alter -> step = s_undo_switch; onward = 1
	fi;
	at_begin()
}

/* swing.Swing.handOver and UndoIn: the truth is read first. */
#define NEVER_IN (!closed[B] && serves[B] == A)
inline hand_over(k) {
	kind = k;
	if
	:: SERVED || kind == h_undo_twin_in && NEVER_IN -> phase = p_afterwards
	:: else -> phase = p_ready
	fi
}
inline serve() {
	if :: OF(A) -> serves[A] = TO; closed[A] = 0 :: else fi;
	if :: OF(B) -> serves[B] = TO; closed[B] = 0 :: else fi;
	printf("stowage: %e flip: the clients of A to #%d, those of B to #%d\n", kind, serves[A], serves[B])
}
/* A statement whose sender died or lost its connection goes on in the server. */
inline maybe_late() {
	if
	:: phase == p_alter && up[SIDE] && late == NONE && is_new[SIDE] != WANT ->
		late = SIDE; late_to = WANT; printf("stowage: its ALTER goes on on #%d\n", SIDE)
	:: true
	fi
}
/* Conditions of the phases; each is a guard. */
#ifndef NO_BARRIER
#define CROSSED (up[TO] && REACHED)
#else
#define CROSSED (kind == h_switch || up[TO] && REACHED)
#endif
#ifndef NO_AWAIT_ALTER
#define ALONE (late != SIDE)
#else
#define ALONE true
#endif
#define SETTLED (!looked[1] && !looked[2])
#define IN_HANDOVER (phase == p_ready || phase == p_close || phase == p_drain || phase == p_fence || phase == p_barrier || phase == p_wait || phase == p_open || phase == p_flip)
#define IN_STEP (phase == p_option_file || phase == p_hold_applier || phase == p_alter || phase == p_start || phase == p_reopen || phase == p_open_gates)

proctype stowage() {
	do
	:: atomic { kills > 0 && !ENDED ->
		kills--; printf("stowage: is killed in %e at %e, and resumed\n", step, phase); maybe_late(); at_begin() }
	:: atomic { aborts > 0 && phase == p_begin && (MAY_END || step == s_twin_alter) ->
		aborts--; printf("stowage: a person gives the run up\n"); give_up() }
	:: atomic { fails > 0 && IN_HANDOVER ->
		fails--; printf("stowage: %e %e fails\n", kind, phase);
		if
		:: phase == p_flip -> printf("stowage: but routing was replaced\n"); serve()
		:: true
		fi;
		phase = p_backout }
	:: atomic { fails > 0 && IN_STEP ->
		fails--; printf("stowage: %e %e fails\n", step, phase); maybe_late(); phase = p_failed }
	:: atomic { ENDED -> printf("stowage: ended, %e\n", step); break }

	/* handovers: package swing */
	:: atomic { phase == p_begin && step == s_out -> hand_over(h_out) }
	:: atomic { phase == p_begin && step == s_undo_out -> hand_over(h_undo_out) }
	:: atomic { phase == p_begin && step == s_switch && !up[B] -> phase = p_failed }
	:: atomic { phase == p_begin && step == s_switch && up[B] -> HOLD_B; hand_over(h_switch) }
	:: atomic { phase == p_begin && step == s_twin_in && !worse -> hand_over(h_twin_in) }
	:: atomic { phase == p_begin && step == s_twin_in && worse -> hand_over(h_undo_twin_in) }
	:: atomic { phase == p_afterwards && (OPENS && !up[TO] || FENCES && !up[FROM]) -> phase = p_failed }
	:: atomic { phase == p_afterwards && (!OPENS || up[TO]) && (!FENCES || up[FROM]) ->
		if :: OPENS -> set_read_only(TO, 0) :: else fi;
		if :: FENCES -> set_read_only(FROM, 1) :: else fi;
		printf("stowage: %e is done already\n", kind);
		phase = (kind == h_twin_in -> p_watch : (kind == h_undo_twin_in -> p_barrier : p_finished)) }
	:: atomic { phase == p_ready -> phase = (up[FROM] && up[TO] -> p_close : p_backout) }
	:: atomic { phase == p_close ->
		if :: OF(A) -> closed[A] = 1 :: else fi;
		if :: OF(B) -> closed[B] = 1 :: else fi;
		printf("stowage: %e close\n", kind); phase = p_drain }
	:: atomic { phase == p_drain && !up[FROM] -> phase = p_backout }
	:: atomic { phase == p_drain && up[FROM] && SETTLED && open_ != FROM -> printf("stowage: %e drain: nothing is open on #%d\n", kind, FROM); phase = (FENCES -> p_fence : p_barrier) }
	:: atomic { phase == p_fence && !up[FROM] -> phase = p_backout }
	:: atomic { phase == p_fence && up[FROM] ->
#ifdef NO_FENCE
		if :: kind == h_switch -> goto unfenced :: else fi;
#endif
		set_read_only(FROM, 1); printf("stowage: %e fence #%d\n", kind, FROM);
unfenced:	phase = p_barrier }
	:: atomic { phase == p_barrier && !up[FROM] -> phase = p_backout }
	:: atomic { phase == p_barrier && up[FROM] -> goal = written[FROM]; phase = p_wait }
	:: atomic { phase == p_wait && CROSSED -> printf("stowage: %e barrier: #%d has what #%d has\n", kind, TO, FROM); goal = 0; phase = (OPENS -> p_open : p_flip) }
	:: atomic { phase == p_wait && !up[TO] && !REACHED -> printf("stowage: %e barrier fails: #%d is down\n", kind, TO); phase = p_backout }
	:: atomic { phase == p_wait && timeout && !REACHED ->
		printf("FAULT: #%d never gets what #%d has, and nothing is down\n", TO, FROM); assert(false) }
	:: atomic { phase == p_open && !up[TO] -> phase = p_backout }
	:: atomic { phase == p_open && up[TO] -> set_read_only(TO, 0); printf("stowage: %e open #%d\n", kind, TO); phase = p_flip }
	:: atomic { phase == p_flip -> serve(); phase = (kind == h_twin_in -> p_watch : p_finished) }
	:: atomic { phase == p_watch && up[A] && up[B] -> phase = p_finished }
	:: atomic { phase == p_watch && (bad > 0 || !up[A] || !up[B]) ->
		if :: up[A] && up[B] -> bad-- :: else fi;
		printf("stowage: watch: the side does worse\n"); worse = 1; phase = p_begin }
	:: atomic { phase == p_backout && SERVED -> phase = p_failed }
	:: atomic { phase == p_backout && !SERVED ->
		if :: FENCES -> set_read_only(FROM, 0) :: else fi;
		if :: OPENS && (OF(A) && serves[A] == TO || OF(B) && serves[B] == TO) -> set_read_only(TO, 0) :: else fi; /* swing.Swing.suspects */
#ifndef NO_BACKOUT_FENCES
		if :: kind == h_switch -> set_read_only(A, 1) :: else fi;
#endif
		printf("stowage: %e backs out\n", kind); phase = p_backout_gate }
	:: atomic { phase == p_backout_gate ->
		if :: OF(A) -> closed[A] = 0 :: else fi;
		if :: OF(B) -> closed[B] = 0 :: else fi;
		printf("stowage: %e backs out: the gates are open\n", kind); phase = p_failed }
	/* Behind the point of no return, and on the way back, a person has it tried again. */
	:: atomic { phase == p_failed && (!worse || kind == h_undo_twin_in) -> at_begin() }
	:: atomic { phase == p_failed && MAY_END -> give_up() }
	:: atomic { phase == p_finished && !worse -> next_step() }
	:: atomic { phase == p_finished && worse -> phase = p_failed }

	/* what is done to a side that serves nobody: package alter */
	:: atomic { phase == p_begin && IS_ALTER -> phase = (up[SIDE] && (step != s_undo_alter || up[B]) -> p_hold_applier : p_failed) }
	:: atomic { phase == p_begin && step == s_hold -> phase = (up[B] -> p_option_file : p_failed) }
	:: atomic { phase == p_begin && step == s_undo_hold -> phase = p_option_file }
	:: atomic { phase == p_begin && step == s_release -> phase = (up[A] && up[B] -> p_option_file : p_failed) }
	:: atomic { phase == p_option_file ->
#ifndef NO_HOLD_FILE
		if :: step == s_hold -> file_hold = 1 :: else fi;
#endif
#ifndef NO_UNHOLD
		if :: step != s_hold -> file_hold = 0 :: else fi;
#endif
		printf("stowage: %e: B starts without replication: %d\n", step, file_hold); phase = (step == s_hold -> p_hold_applier : p_start) }
	:: atomic { (phase == p_hold_applier || phase == p_alter || phase == p_start) && !up[SIDE] -> phase = p_failed }
	:: atomic { phase == p_hold_applier && up[SIDE] && step == s_hold -> HOLD_B; phase = p_finished }
	:: atomic { phase == p_hold_applier && up[SIDE] && IS_ALTER -> hold(SIDE); phase = p_alter }
	:: atomic { phase == p_alter && up[SIDE] && ALONE && open_ != SIDE -> /* an open transaction keeps its tables as they are */
		if
		:: is_new[SIDE] != WANT ->
			is_new[SIDE] = WANT; printf("stowage: %e: the tables of #%d are new: %d\n", step, SIDE, WANT);
			if :: !WANT -> value[SIDE] = 0 :: else fi;
#ifdef NO_UNLOGGED
			ev_key[events] = DDL;
			if :: WANT -> valued = valued | (1 << events) :: else fi;
			log_[SIDE*EVENTS+written[SIDE]] = events; written[SIDE]++; events++
#endif
		:: else
		fi;
		phase = (step == s_twin_alter -> p_finished : p_start) }
	:: atomic { phase == p_start && up[SIDE] -> start(SIDE); printf("stowage: %e: #%d applies\n", step, SIDE); phase = p_finished }
	:: atomic { phase == p_begin && step == s_undo_switch ->
		if
#ifndef NO_ONE_WAY
		:: SWITCHED -> printf("stowage: clients write rows of the new shape: there is no way back, and a person lets it go on\n");
			step = (onward -> s_twin_alter : s_switch); onward = 0; at_begin()
#else
		:: SWITCHED -> phase = p_finished
#endif
		:: else ->
#ifndef NO_SWITCH_BACK
			phase = p_reopen
#else
			phase = p_finished
#endif
		fi }
	:: atomic { phase == p_reopen && up[B] -> set_read_only(B, 0); set_read_only(A, 1); printf("stowage: undo switch: B takes writes, A does not\n"); phase = p_open_gates }
	:: atomic { phase == p_open_gates -> closed[A] = 0; closed[B] = 0; printf("stowage: undo switch: the gates are open\n"); phase = p_finished }
	od
}

/* When nothing can move any more, this is what must be true. */
#define MUST(condition, fault) if :: condition :: else -> printf(fault); assert(false) fi
#define SAFE(k) ((acked[k] & ~has[serves[HOME(k)]]) == 0)
#define EQUAL(k) (row[k] == row[CLIENTS+k] || excused[k])
proctype judge() {
	atomic {
		timeout && !WAITS ->
		MUST((SAFE(0) && SAFE(1) && SAFE(2)), "FAULT: an acknowledged write is lost\n");
		MUST((!closed[A] && !closed[B]), "FAULT: a gate is closed and nobody will open it\n");
		MUST((ENDED), "FAULT: the controller waits for ever\n");
		MUST((ended[0] && ended[1] && ended[2]), "FAULT: a client waits for ever\n");
		MUST((serves[A] == A && serves[B] == B), "FAULT: the pair does not serve on both sides\n");
		MUST((!ro[A] && !ro[B] && !file_ro[A] && !file_ro[B]), "FAULT: a side is left fenced\n");
		MUST((!file_hold && applies[A] && applies[B] && receives[A] && receives[B]), "FAULT: a side is left without replication\n");
		MUST((has[A] == has[B]), "FAULT: the sides differ, an acknowledged write is lost\n");
		MUST((is_new[A] == (step == s_done) && is_new[B] == (step == s_done)), "FAULT: the tables are not as they should be\n");
		MUST((value[A] == value[B] && (value[A] & valued) == valued), "FAULT: a value of the new column is lost\n");
		MUST((EQUAL(0) && EQUAL(1) && EQUAL(2)), "FAULT: the sides differ: each has the row as the other had it before\n")
	}
}

init {
	atomic {
		serves[B] = B;
		run stowage(); run transactions(); run statements(1); run statements(2); run replication(); run world(); run judge()
	}
}
