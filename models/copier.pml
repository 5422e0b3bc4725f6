/* The shard copier: one database goes from source S into target T, which
 * already serves others, by rows and by the events of the binary log.
 *
 * Phases and guards are named as in package copier; models/guards.tsv says
 * which function holds each. The move is, in steps: begin (the reader's position),
 * copy (chunks by key, beside the feed), checksum, cutover, soak; a cutover is,
 * in phases: lock, position, barrier, rename, unlock, barrier-again, open, save,
 * flip. After it the feed runs back, so that the same cutover in the other
 * direction is the way back.
 *
 * One client writes two rows, versions 1, 2, ... and 0 for DELETE, and knows
 * what each must hold. It looks at the route and may sleep before it writes.
 */

#ifndef WRITES
#define WRITES  1
#endif
#ifndef KILLS
#define KILLS   0   /* kill -9 of the copier, then resume */
#endif
#ifndef CRASHES
#define CRASHES 0   /* of source or target, which then starts again */
#endif
#ifndef FAILS
#define FAILS   0   /* a phase of the cutover fails, by a time limit or an error */
#endif
#ifndef CUTS
#define CUTS    0   /* the connection that holds the lock is lost, and nobody is told */
#endif
#ifndef PASTS
#define PASTS  0   /* a write with sql_log_bin=0, before the checksum */
#endif
#ifndef BADS
#define BADS    0   /* the target does worse: the way back is taken */
#endif
#ifndef CHANGES
#define CHANGES 0   /* a person changes a definition on the target while it serves: what it does to rows is not in the binary log */
#endif
#define KEYS 2
#define L    (2 * WRITES + 1)
#define S    0
#define T    1
#define NONE 255

/* Servers. Row k of server s: [2*s + k]. */
bit  up[2] = 1;
byte row[4];
byte log_key[2*L], log_row[2*L], logged[2];
bit  locked[2];               /* LOCK TABLES ... READ is held: no writer, readers go on */
bit  queued[2];               /* RENAME waits behind it */
bit  renamed[2];              /* the tables are called _sw_... */

/* The client's write under way: in the binary log, and not yet visible. */
byte at_ = NONE, key_, new_;
byte must[2], version;        /* what each row must hold; the versions given out */
bit  serves, ended;
bit  excused;                 /* something died or ran out of time: readers may see an error */

/* A change of a definition in the log of T, and whether a person was asked about what follows. */
byte wall = NONE;
bit  asked;

/* What the copier keeps, at the side it writes to, with the data. */
byte mark[2] = NONE;          /* the event that comes next: [S] of S, kept in T; [T] of T, kept in S */
byte cursor;                  /* the next key to copy */

/* The copier. step is what the engine keeps. */
mtype:step = { s_begin, s_copy, s_checksum, s_cutover, s_soak, s_undo, s_done, s_undone };
mtype:phase = { p_begin, p_lock, p_position, p_barrier, p_rename, p_unlock, p_barrier_again, p_open, p_save, p_flip, p_save_late, p_backout, p_finished };
mtype:step  step = s_begin;
mtype:phase phase = p_begin;
bit  writing;                 /* a chunk has been read and is not written yet: row `cursor` is `held` */
byte held, goal;
byte pending = NONE;          /* an event whose mark was moved before its data (NO_MARK_WITH_DATA) */
bit  mine;                    /* it holds the lock, as far as it knows */
byte ghost = NONE, ghost_row, ghost_mark = NONE; /* what a copier that was killed has sent to T, not carried out yet */
byte kills = KILLS, crashes = CRASHES, fails = FAILS, cuts = CUTS, past = PASTS, bad = BADS, changes = CHANGES;

#define FROM  (step == s_undo -> T : S)
#define TO    (1 - FROM)
#define ENDED (step == s_done || step == s_undone)
#define WAITS (phase == p_barrier || phase == p_barrier_again || step == s_checksum)

/* The next event of side s, and whether it can be applied to the other. */
#define EVENT(s) ((s)*L + mark[s])
#define CAN_FEED(s) (up[s] && up[1-s] && mark[s] != NONE && mark[s] < logged[s] && pending == NONE && !IN_THE_WAY(s) && CARRIED(s))
#define LOST (wall != NONE && mark[T] == wall)  /* and the copier knows it */
#ifndef NO_CANNOT
#define CARRIED(s) !((s) == T && LOST)
#else
#define CARRIED(s) true
#endif
#ifndef NO_TURN
#define TURNS (step == s_undo && LOST && !renamed[T])
#else
#define TURNS false
#endif
#ifndef NO_ASK
#define MAY_SETTLE (!LOST || asked)
#else
#define MAY_SETTLE true
#endif
#ifndef NO_DEFER
#define IN_THE_WAY(s) (writing && log_key[EVENT(s)] == cursor)
#else
#define IN_THE_WAY(s) false
#endif
#ifndef NO_IMAGES
#define IMAGE(s) log_row[EVENT(s)]
#else
#define IMAGE(s) row[2*(s) + log_key[EVENT(s)]]  /* reads the row again, by key */
#endif
#ifndef NO_NEVER_DROP
#define DROPPED(s) false
#else
#define DROPPED(s) (step == s_copy && log_key[EVENT(s)] >= cursor)  /* it will be copied later, won't it? */
#endif
#ifndef NO_ONE_WAY
#define FORWARD (serves == S && step != s_undo)
#else
#define FORWARD (!ENDED)
#endif
#define BACKWARD (step == s_soak || step == s_undo)
#ifndef NO_LOCKING_READ
#define SETTLED(k) !(at_ == S && key_ == (k))  /* LOCK IN SHARE MODE waits for who holds the row */
#else
#define SETTLED(k) true
#endif
#ifndef NO_REACH
#define REACHED (mark[FROM] >= goal)
#else
#define REACHED true
#endif
#ifndef NO_REACH_AGAIN
#define REACHED_AGAIN (mark[FROM] >= logged[FROM])
#else
#define REACHED_AGAIN true
#endif

proctype client() {
	byte at, k;
look:
	do
	:: version == WRITES -> break
	:: version < WRITES ->
		atomic { at = serves; if :: k = 0 :: k = 1 fi; printf("client: looks: #%d\n", at) }
		/* The statement comes to the server: it waits behind a lock, and fails on tables that are renamed. */
		if
		:: atomic { !up[at] -> goto lost }
		:: atomic { up[at] && renamed[at] && !locked[at] -> printf("client: is answered 1146 by #%d\n", at); goto gone }
		:: atomic { up[at] && !renamed[at] && !locked[at] ->
			if
			:: row[2*at] == must[0] && row[2*at+1] == must[1]
			:: else -> printf("FAULT: the client works on #%d, whose rows are %d and %d, and must be %d and %d\n", at, row[2*at], row[2*at+1], must[0], must[1]); assert(false)
			fi;
			version++;
			if
			:: new_ = version; printf("client: writes version %d of row %d on #%d: logged\n", version, k, at)
			:: row[2*at+k] != 0 -> new_ = 0; printf("client: deletes row %d on #%d: logged\n", k, at)
			fi;
			at_ = at; key_ = k;
			log_key[at*L+logged[at]] = k; log_row[at*L+logged[at]] = new_; logged[at]++ }
			atomic {
				if
				:: at_ == at -> row[2*at+k] = new_; at_ = NONE
				:: else /* the server died; what is in its binary log is committed when it starts, and read back */
				fi;
				must[k] = new_; printf("client: row %d is %d: visible, acknowledged\n", k, new_); new_ = 0; key_ = 0 }
		:: atomic { past > 0 && up[S] && at == S && step == s_copy && !renamed[S] && !locked[S] ->
			past--; version++; row[k] = version; must[k] = version; printf("client: writes version %d of row %d past the binary log\n", version, k) }
		fi;
		at = 0; k = 0
	od;
	atomic { ended = 1; goto over }
gone:
	atomic { !renamed[at] || serves != at || !up[at] -> at = 0; k = 0; goto look }
lost:
	atomic { up[at] || serves != at -> at = 0; k = 0; goto look }
over:	skip
}

inline rename(s) {
	queued[s] = 0; renamed[s] = 1; printf("server #%d: RENAME is carried out\n", s);
	if
	:: excused || mark[s] >= logged[s]
	:: else -> printf("FAULT: the tables are renamed and events are still to be applied: readers fail for as long as that takes\n"); assert(false)
	fi
}
/* RENAME goes before writers that wait for the same lock. */
inline release(s) {
	locked[s] = 0; if :: queued[s] -> rename(s) :: else fi
}
inline die(s) {
	crashes--; excused = 1; up[s] = 0; locked[s] = 0; queued[s] = 0; printf("server #%d: dies\n", s);
	if :: at_ == s -> row[2*s+key_] = new_; at_ = NONE :: else fi;
	if :: s == T -> ghost = NONE; ghost_mark = NONE; ghost_row = 0 :: else fi
}
proctype world() {
end:	do
	:: atomic { crashes > 0 && up[S] -> die(S) }
	:: atomic { crashes > 0 && up[T] -> die(T) }
	:: atomic { !up[S] -> up[S] = 1; printf("server #0: starts again\n") }
	:: atomic { !up[T] -> up[T] = 1; printf("server #1: starts again\n") }
	:: atomic { changes > 0 && !ENDED && up[T] && serves == T && !locked[T] && !renamed[T] && at_ != T ->
		changes--; wall = logged[T]; log_key[T*L+logged[T]] = 0; log_row[T*L+logged[T]] = 100; logged[T]++;
		row[2*T] = 100; must[0] = 100; printf("server #1: a person changes a definition, and with it row 0\n") }
	:: atomic { LOST && step == s_soak && !asked -> asked = 1; printf("stowage: a person lets it go on without a way back\n") }
	:: atomic { cuts > 0 && mine && locked[FROM] -> cuts--; excused = 1; printf("server #%d: ends the session that holds the lock\n", FROM); release(FROM) }
#ifndef NO_LOCK_EXPIRES
	/* The session that locks has a short wait_timeout: the server ends it by itself. */
	:: atomic { locked[S] && !mine -> printf("server #0: the lock of a session without a client is released\n"); release(S) }
	:: atomic { locked[T] && !mine -> printf("server #1: the lock of a session without a client is released\n"); release(T) }
#endif
	:: atomic { ghost != NONE && up[T] ->
		if
		:: ghost_mark == NONE && row[2*T+ghost] != 0 /* INSERT IGNORE */
		:: ghost_mark == NONE && row[2*T+ghost] == 0 -> row[2*T+ghost] = ghost_row
		:: else -> row[2*T+ghost] = ghost_row; mark[S] = ghost_mark
		fi;
		printf("server #1: carries out what a copier that was killed had sent: row %d is %d\n", ghost, row[2*T+ghost]);
		ghost = NONE; ghost_mark = NONE; ghost_row = 0 }
	od
}

inline apply(s) {
	if
	:: DROPPED(s) -> printf("copier: drops the event of row %d\n", log_key[EVENT(s)])
	:: else -> row[2*(1-s)+log_key[EVENT(s)]] = IMAGE(s); printf("copier: row %d of #%d becomes %d\n", log_key[EVENT(s)], 1-s, IMAGE(s));
#ifdef NO_ONE_WAY
		if :: s == T -> log_key[S*L+logged[S]] = log_key[EVENT(T)]; log_row[S*L+logged[S]] = IMAGE(T); logged[S]++ :: else fi
#endif
	fi
}
inline at_begin() { phase = p_begin; goal = 0; printf("copier: step %e\n", step) }
#define IN_CUTOVER (phase == p_lock || phase == p_position || phase == p_barrier || phase == p_rename || phase == p_unlock || phase == p_barrier_again)

#ifndef NO_LOCK
#define LOCKABLE (at_ != FROM && !locked[FROM])
#else
#define LOCKABLE true
#endif
inline lock() {
#ifndef NO_LOCK
	locked[FROM] = 1;
#endif
	mine = 1; printf("copier: %e: lock\n", step)
}

proctype copier() {
	do
	:: atomic { ENDED -> printf("copier: ended, %e\n", step);
		if
		:: step == s_done && LOST && !asked -> printf("FAULT: it has settled without a way back, and nobody was asked\n"); assert(false)
		:: else
		fi;
		break }
	:: atomic { kills > 0 && !ENDED ->
		kills--; excused = 1; printf("copier: is killed in %e at %e, and resumed\n", step, phase);
		if /* a transaction that it had sent to T may still be carried out */
		:: writing && up[T] -> ghost = cursor; ghost_row = held; printf("copier: its chunk is on the way\n")
		:: !writing && serves == S && CAN_FEED(S) -> ghost = log_key[EVENT(S)]; ghost_row = IMAGE(S); ghost_mark = mark[S] + 1; printf("copier: an event is on the way\n")
		:: true
		fi;
#ifndef NO_EPOCH
		/* The next copier takes the row with the mark for itself: what another has sent is in before that, or fails. */
		if
		:: ghost != NONE && ghost_mark == NONE -> if :: row[2*T+ghost] == 0 -> row[2*T+ghost] = ghost_row :: else fi; cursor++
		:: ghost != NONE && ghost_mark != NONE -> row[2*T+ghost] = ghost_row; mark[S] = ghost_mark
		:: true
		fi;
		ghost = NONE; ghost_mark = NONE; ghost_row = 0;
#endif
		writing = 0; held = 0; pending = NONE; mine = 0;
		if /* the server notices at once, or later; RENAME may wait there still */
		:: queued[FROM] -> queued[FROM] = 0
		:: true
		fi;
		if :: locked[FROM] -> release(FROM) :: true fi;
		at_begin() }
	:: atomic { fails > 0 && IN_CUTOVER -> fails--; excused = 1; printf("copier: %e fails\n", phase); phase = p_backout }

	/* The feed: one event and its mark in one transaction. */
#ifndef NO_MARK_WITH_DATA
	:: atomic { FORWARD && CAN_FEED(S) -> apply(S); mark[S]++ }
	:: atomic { BACKWARD && CAN_FEED(T) -> if :: LOST -> printf("copier: passes over the change\n") :: else -> apply(T) fi; mark[T]++ }
#else
	:: atomic { FORWARD && CAN_FEED(S) -> pending = mark[S]; mark[S]++; printf("copier: the mark moves on\n") }
	:: atomic { pending != NONE && up[T] -> mark[S] = pending; apply(S); mark[S]++; pending = NONE }
	:: atomic { BACKWARD && CAN_FEED(T) -> if :: LOST -> printf("copier: passes over the change\n") :: else -> apply(T) fi; mark[T]++ }
#endif

	/* begin: the reader's position comes before the first chunk */
	:: atomic { phase == p_begin && step == s_begin && up[S] && up[T] ->
#ifndef NO_READER_FIRST
		mark[S] = logged[S];
#endif
		step = s_copy; at_begin() }
	/* copy: a chunk is a row here */
	:: atomic { step == s_copy && cursor < KEYS && !writing && up[S] && SETTLED(cursor) -> held = row[cursor]; writing = 1; printf("copier: reads row %d: %d\n", cursor, held) }
	:: atomic { step == s_copy && writing && up[T] ->
		if
#ifndef NO_INSERT_IGNORE
		:: row[2*T+cursor] != 0 || held == 0
#endif
		:: else -> row[2*T+cursor] = held
		fi;
		printf("copier: writes the chunk: row %d of #1 is %d\n", cursor, row[2*T+cursor]); writing = 0; held = 0; cursor++ }
	:: atomic { step == s_copy && cursor == KEYS && up[S] ->
#ifdef NO_READER_FIRST
		if :: mark[S] == NONE -> mark[S] = logged[S] :: else fi;
#endif
		step = s_checksum; at_begin() }
#ifndef NO_CHECKSUM
	/* checksum: at one position of both */
	:: atomic { step == s_checksum && up[S] && up[T] && mark[S] == logged[S] && at_ != S ->
		if
		:: row[0] == row[2] && row[1] == row[3] -> step = s_cutover
		:: else ->
			if
			:: past < PASTS
			:: else -> printf("FAULT: the copy differs though every write was in the binary log\n"); assert(false)
			fi;
			printf("copier: the rows differ: refused\n"); step = s_undone
		fi;
		at_begin() }
#else
	:: atomic { step == s_checksum -> step = s_cutover; at_begin() }
#endif

	/* cutover, and its mirror image */
	:: atomic { phase == p_begin && (step == s_cutover || step == s_undo) ->
#ifndef NO_OWN_STATEMENT_ENDED
		queued[FROM] = 0; /* a RENAME of a copier that was killed may wait there still */
#endif
#ifndef NO_TRUTH
		/* Once the other side is open, somebody may have written there: forward only. */
		phase = (serves == TO -> p_finished : (step == s_undo && !renamed[TO] -> p_save : (renamed[FROM] -> p_barrier_again : p_lock)))
#else
		phase = (renamed[FROM] -> p_backout : p_lock)
#endif
		}
	:: atomic { phase == p_lock && !up[FROM] -> phase = p_backout }
#ifndef NO_POSITION_AFTER_LOCK
	:: atomic { phase == p_lock && up[FROM] && LOCKABLE -> lock(); phase = p_position }
	:: atomic { phase == p_position -> goal = logged[FROM]; printf("copier: %e: position %d\n", step, goal); phase = p_barrier }
#else
	:: atomic { phase == p_lock && up[FROM] -> goal = logged[FROM]; printf("copier: %e: position %d\n", step, goal); phase = p_position }
	:: atomic { phase == p_position && up[FROM] && LOCKABLE -> lock(); phase = p_barrier }
#endif
	:: atomic { phase == p_barrier && REACHED -> printf("copier: %e: barrier\n", step); goal = 0; phase = p_rename }
	:: atomic { phase == p_barrier && timeout -> phase = p_backout }
#ifndef NO_TURN
	/* Taken back on the way back: it serves where it did, and a person is asked. */
	:: atomic { phase == p_backout && TURNS && up[T] -> mine = 0; queued[T] = 0; locked[T] = 0;
		printf("copier: there is no way back: it serves on\n"); step = s_soak; at_begin() }
#endif
	:: atomic { phase == p_rename && !up[FROM] -> phase = p_backout }
	:: atomic { phase == p_rename && up[FROM] && renamed[FROM] -> phase = p_unlock }
	:: atomic { phase == p_rename && up[FROM] && !renamed[FROM] && (locked[FROM] || at_ != FROM) ->
#ifndef NO_RENAME
		printf("copier: %e: rename\n", step);
		if :: locked[FROM] -> queued[FROM] = 1 :: else -> rename(FROM) fi;
#endif
		phase = p_unlock }
	:: atomic { phase == p_unlock && up[FROM] -> printf("copier: %e: unlock\n", step); mine = 0; release(FROM);
		if
#ifndef NO_RENAME
		:: !renamed[FROM] -> phase = p_backout /* the server died in between */
#endif
		:: else -> phase = p_barrier_again
		fi }
	:: atomic { phase == p_unlock && !up[FROM] -> phase = p_backout }
	/* Was the lock held until RENAME? It does not matter: nobody writes any more. */
	:: atomic { phase == p_barrier_again && REACHED_AGAIN -> printf("copier: %e: barrier again\n", step); phase = p_open }
	:: atomic { phase == p_open && up[TO] ->
#ifndef NO_OPEN
		renamed[TO] = 0;
#endif
		printf("copier: %e: open\n", step); phase = p_save }
	/* save: where the feed back begins */
#ifndef NO_SAVE_FIRST
	:: atomic { phase == p_save && up[TO] -> if :: step == s_cutover -> mark[T] = logged[T]; printf("copier: save position %d of #1\n", mark[T]) :: else fi; phase = p_flip }
	:: atomic { phase == p_flip -> serves = TO; printf("copier: %e: flip to #%d\n", step, serves); phase = p_finished }
#else
	:: atomic { phase == p_save -> phase = p_flip }
	:: atomic { phase == p_flip -> serves = TO; printf("copier: %e: flip to #%d\n", step, serves); phase = p_save_late }
	:: atomic { phase == p_save_late -> if :: step == s_cutover -> mark[T] = logged[T]; printf("copier: save position %d of #1\n", mark[T]) :: else fi; phase = p_finished }
#endif
	:: atomic { phase == p_finished -> step = (step == s_cutover -> s_soak : s_undone); at_begin() }
	:: atomic { step == s_soak && MAY_SETTLE -> step = s_done; at_begin() }
	:: atomic { step == s_soak && bad > 0 -> bad--; printf("copier: the way back is taken\n"); step = s_undo; at_begin() }

	/* taken back: the source serves as before */
	:: atomic { phase == p_backout && up[FROM] && !TURNS ->
#ifndef NO_BACKOUT_UNLOCKS
		if :: mine -> mine = 0; queued[FROM] = 0; locked[FROM] = 0 :: else fi;
#endif
#ifndef NO_BACKOUT_RENAMES
		renamed[FROM] = 0;
#endif
		printf("copier: %e: backs out\n", step);
		if
		:: at_begin()
		:: printf("copier: gives up\n"); step = (step == s_cutover -> s_undone : s_done); at_begin()
		fi }
	od
}

#define MUST(condition, fault) if :: condition :: else -> printf(fault); assert(false) fi
proctype judge() {
	atomic {
		timeout && !WAITS ->
		MUST((row[2*serves] == must[0] && row[2*serves+1] == must[1]), "FAULT: an acknowledged write is lost, or one that was undone has come back\n");
#ifndef LOSS_ONLY
		MUST((ENDED), "FAULT: the copier waits for ever\n");
		MUST((!locked[S] && !locked[T] && !queued[S] && !queued[T]), "FAULT: tables are left locked\n");
		MUST((!renamed[serves]), "FAULT: the tables that serve are left renamed\n");
		MUST((ended), "FAULT: the client waits for ever\n");
		MUST((serves == S || renamed[S]), "FAULT: both sides take writes\n")
#endif
	}
}

init {
	atomic { row[0] = 99; must[0] = 99; run copier(); run client(); run world(); run judge() }
}
