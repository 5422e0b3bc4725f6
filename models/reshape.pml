/* The reshape: the latest child of a row is carried on the row, while clients write and sides of the pair change places.
 *
 * One tenant with one row and its children, on both sides of an active-active pair. The row has a column of the client's own and
 * one that is carried. The binary log has whole rows: who writes one column sends the others along, as this side has them, and
 * the other side's applier writes all of them. Triggers keep the carried column; appliers run none. The fill-in sets it where
 * nobody has since; then the tenant is verified and its flag is set.
 *
 * Checked: no acknowledged write is lost (of the row and of its children), the carried column is right on every side on which
 * the tenant is active, and both sides are equal at the end. What models/swing.pml has shown of every handover is not shown
 * again: models/README.md. Each guard is one NO_<GUARD>, listed in models/guards.tsv.
 */

#ifndef WRITES_0
#define WRITES_0 1  /* transactions of a client */
#endif
#ifndef WRITES_1
#define WRITES_1 0  /* of another client of the same tenant */
#endif
#ifndef KILLS
#define KILLS    0  /* kill -9 of the program, then resume */
#endif
#ifndef SWINGS
#define SWINGS   0  /* the side that serves leaves, and its twin serves */
#endif
#ifndef PASTS
#define PASTS    0  /* a child is written past the triggers, before the tenant is verified */
#endif
#define FILLS (2 + KILLS + PASTS) /* how often the row is filled in before a person is asked */
#define L (WRITES_0 + WRITES_1 + PASTS + 2 * KILLS + 1 + FILLS) /* events of one side */

#define A    0
#define B    1
#define NONE 2
#define FILL 2               /* who locks the row: client 0, client 1, the fill-in */
#define FREE 3

/* The sides. Row: own column and carried column; children: one bit each. */
byte own[2], carried[2], kids[2];
bit  flag[2];              /* the flag latest_entry_active on the tenant's row */
bit  triggers[2];
byte locks[2] = FREE;        /* who holds the row */
bit  open_[6];               /* client k has a transaction on side s: [3*s + k]; the fill-in is the third */

/* Binary logs: whole rows, children that came and went, the flag. */
bit  ev_row[2*L], ev_flag[2*L];
byte ev_own[2*L], ev_carried[2*L], ev_came[2*L], ev_went[2*L];
byte logged[2], applied[2];  /* applied[s]: how much of s its twin has applied */

/* Routing of the tenant's key. */
bit  serves, closed;

/* What clients were acknowledged. */
byte own_acked, kids_acked, next_kid;
bit  ended[2];

/* The program. step is what the engine keeps: a wave that is resumed begins with its first tenant again. */
mtype:step = { s_columns, s_wave, s_done };
mtype:step step = s_columns;
mtype:phase = { p_fill, p_verify };
mtype:phase phase = p_fill;
byte fills = FILLS;
bit  asked;                  /* the tenant differs again and again: it stays as it was, and a person is asked */
byte kills = KILLS, swings = SWINGS, pasts = PASTS;

#define LATEST(m) ((m) >= 8 -> 4 : ((m) >= 4 -> 3 : ((m) >= 2 -> 2 : (m))))
#define OPEN(s)   (open_[3*(s)] || open_[3*(s)+1] || open_[3*(s)+2])
#define CAUGHT_UP(s) (applied[s] == logged[s])  /* the twin of s has all of s */

/* What must hold on side s after every change of it. */
inline look_at(s) {
	if
	:: flag[s] && carried[s] != LATEST(kids[s]) ->
		printf("FAULT: the tenant is active on #%d, where child %d is carried and child %d is the latest\n", s, carried[s], LATEST(kids[s])); assert(false)
	:: else
	fi
}
/* The row of s goes into its binary log as it is now. */
inline log_row(s) {
	ev_row[(s)*L+logged[s]] = 1; ev_own[(s)*L+logged[s]] = own[s]; ev_carried[(s)*L+logged[s]] = carried[s]
}
/* A client works on s: all that was acknowledged is there. */
inline has_all(s) {
	if
	:: own[s] != own_acked || kids[s] != kids_acked ->
		printf("FAULT: an acknowledged write is lost: #%d has value %d and children %d of the row, acknowledged are %d and %d\n", s, own[s], kids[s], own_acked, kids_acked); assert(false)
	:: else
	fi
}

/* A client's transaction: rules 2 to 4 of docs/reference/routing.md, on the side that serves the tenant's key. */
#define CHOOSES  0
#define CHANGES  1
#define ADDS     2
#define DELETES  3
#define WRITES(k) (k == 0 -> WRITES_0 : WRITES_1)
proctype client(byte k) {
	byte at, done, what, kid, sum;
look:
	do
	:: done == WRITES(k) -> break
	:: done < WRITES(k) ->
		atomic { !closed -> at = serves; printf("client %d: looks: #%d\n", k, at) }
		/* Its first statement. Changes of the row lock it; children do not. */
		atomic {
			if
			:: locks[at] == FREE -> locks[at] = k; what = CHANGES; open_[3*at+k] = 1; printf("client %d: locks the row on #%d\n", k, at)
			:: next_kid < 4 -> what = ADDS; kid = 1 << next_kid; next_kid++; open_[3*at+k] = 1; printf("client %d: adds child %d on #%d, not committed\n", k, LATEST(kid), at)
			:: kids[at] != 0 && !open_[3*at+1-k] -> what = DELETES; kid = (1 << (LATEST(kids[at]) - 1)); open_[3*at+k] = 1; printf("client %d: deletes child %d on #%d, not committed\n", k, LATEST(kid), at)
			fi
		}
		atomic {
			if
			:: closed || serves != at -> printf("client %d: second look: changed, ROLLBACK\n", k); goto rollback
			:: else
			fi
		}
		if
		:: what == CHANGES -> skip
		:: what != CHANGES && triggers[at] ->
			/* The trigger: the row is locked, then its latest child is looked for, as it is now. */
#ifdef NO_TRIGGER_LOCKS
			atomic { sum = (what == ADDS -> kids[at] | kid : kids[at] & ~kid) }
#endif
			atomic { locks[at] == FREE -> locks[at] = k
#ifndef NO_TRIGGER_LOCKS
				; sum = (what == ADDS -> kids[at] | kid : kids[at] & ~kid)
#endif
			}
		:: what != CHANGES && !triggers[at] -> skip
		fi;
		atomic {
			has_all(at);
			if
			:: what == CHANGES -> own[at]++; own_acked++; log_row(at)
			:: what == ADDS -> kids[at] = kids[at] | kid; kids_acked = kids_acked | kid; ev_came[at*L+logged[at]] = kid
			:: what == DELETES -> kids[at] = kids[at] & ~kid; kids_acked = kids_acked & ~kid; ev_went[at*L+logged[at]] = kid
			fi;
			if
			:: what != CHANGES && locks[at] == k -> carried[at] = LATEST(sum); log_row(at)
			:: else
			fi;
			logged[at]++; done++;
			printf("client %d: commits on #%d: value %d, children %d, carried %d\n", k, at, own[at], kids[at], carried[at]);
			look_at(at);
rollback:		if :: locks[at] == k -> locks[at] = FREE :: else fi;
			open_[3*at+k] = 0; at = 0; what = CHOOSES; kid = 0; sum = 0
		}
	od;
	ended[k] = 1
}

/* Side r applies the next transaction of its twin: whole rows, and no triggers. It waits for who holds the row. */
#define NEXT(r) ((1-(r))*L+applied[1-(r)])
#define CAN_APPLY(r) (!CAUGHT_UP(1-(r)) && (!ev_row[NEXT(r)] || locks[r] == FREE))
inline apply(r) {
	if :: ev_row[NEXT(r)] -> own[r] = ev_own[NEXT(r)]; carried[r] = ev_carried[NEXT(r)] :: else fi;
	kids[r] = (kids[r] | ev_came[NEXT(r)]) & ~ev_went[NEXT(r)];
	if :: ev_flag[NEXT(r)] -> flag[r] = 1 :: else fi;
	applied[1-(r)]++;
	printf("server #%d: applies: value %d, children %d, carried %d, active %d\n", r, own[r], kids[r], carried[r], flag[r]);
	look_at(r)
}
proctype replication() {
end:	do
	:: atomic { CAN_APPLY(A) -> apply(A) }
	:: atomic { CAN_APPLY(B) -> apply(B) }
	:: atomic { pasts > 0 && !closed && next_kid < 4 && triggers[serves] && step == s_wave && !flag[A] && !flag[B] ->
		pasts--; kids[serves] = kids[serves] | (1 << next_kid); kids_acked = kids_acked | (1 << next_kid);
		ev_came[serves*L+logged[serves]] = 1 << next_kid; logged[serves]++; next_kid++;
		printf("client 2: adds child %d on #%d past the triggers\n", next_kid, serves) }
	od
}

/* swing.Swing in short: gate, drain, barrier, flip. A swing and a run of reshape on one pair exclude each other, and the drain waits
 * for what the program has written and not committed. Here the swing may come at any moment in which the fill-in has nothing
 * open, which is more than that. */
#ifndef NO_APART
#define DRAINS OPEN(serves)
#else
#define DRAINS (open_[3*serves] || open_[3*serves+1])
#endif
proctype swing() {
end:	do
	:: atomic { swings > 0 -> swings--; closed = 1; printf("stowage: a swing closes the gate of the tenant's clients\n") }
		atomic { !DRAINS -> printf("stowage: swing: drained\n") }
		atomic { CAUGHT_UP(serves) -> serves = 1 - serves; closed = 0; printf("stowage: swing: flip to #%d\n", serves) }
	od
}

/* The program, one step after the other. A kill ends its connection: what it had open is rolled back. */
#ifndef NO_SERVING_SIDE
#define TARGET serves
#else
#define TARGET (1 - serves)
#endif
#ifndef NO_TRIGGERS_FIRST
#define MAY_FILL (triggers[A] && triggers[B])
#else
#define MAY_FILL triggers[A]
#endif
#define KILLED :: atomic { kills > 0 -> kills--; printf("stowage: is killed\n"); phase = p_fill; goto again }
proctype program() {
	byte at, sum;
again:
	atomic {
		if :: locks[A] == FILL -> locks[A] = FREE :: else fi;
		if :: locks[B] == FILL -> locks[B] = FREE :: else fi;
		open_[2] = 0; open_[5] = 0; at = 0; sum = 0
	}
	if
	:: step == s_columns ->
		/* The column and the triggers come to one side after the other, past the binary log. */
		if
		:: atomic { MAY_FILL -> step = s_wave; goto again }
		:: atomic { !triggers[A] && !OPEN(A) -> triggers[A] = 1; printf("stowage: columns: #%d has triggers\n", A); goto again }
		:: atomic { triggers[A] && !triggers[B] && !OPEN(B) -> triggers[B] = 1; printf("stowage: columns: #%d has triggers\n", B); goto again }
		KILLED
		fi
	:: step == s_wave && phase == p_fill ->
		atomic { !closed -> at = TARGET; printf("stowage: fill: looks: #%d\n", at) }
#ifndef NO_ROW_LOCK
		if
		:: atomic { locks[at] == FREE -> locks[at] = FILL; open_[3*at+2] = 1; sum = kids[at]; printf("stowage: fill: locks the row on #%d, its latest child is %d\n", at, LATEST(sum)) }
		KILLED
		fi;
#else
		atomic { open_[3*at+2] = 1; sum = kids[at]; printf("stowage: fill: reads, without a lock, on #%d: the latest child is %d\n", at, LATEST(sum)) }
#endif
#ifndef NO_SECOND_LOOK
		atomic {
			if
			:: closed || TARGET != at -> printf("stowage: fill: second look: changed, ROLLBACK\n"); goto again
			:: else
			fi
		}
#endif
		if
		:: atomic { locks[at] == FREE || locks[at] == FILL -> carried[at] = LATEST(sum); log_row(at); logged[at]++; fills--; phase = p_verify;
			printf("stowage: fill: commits on #%d: value %d, child %d is carried\n", at, own[at], carried[at]); look_at(at); goto again }
		KILLED
		fi
	:: step == s_wave && phase == p_verify ->
		/* Verified and flagged in one transaction: the children and the row are locked. */
		if
		:: atomic { !closed && locks[serves] == FREE ->
			if
#ifndef NO_VERIFY
			:: carried[serves] != LATEST(kids[serves]) ->
				printf("stowage: verify: the row differs\n");
				if :: fills > 0 -> phase = p_fill :: fills == 0 -> asked = 1; step = s_done fi;
				goto again
			:: carried[serves] == LATEST(kids[serves]) ->
#else
			:: true ->
#endif
				flag[serves] = 1; ev_flag[serves*L+logged[serves]] = 1; logged[serves]++;
				printf("stowage: verify: the tenant is active on #%d\n", serves); look_at(serves)
			fi }
			if
			:: atomic { true -> step = s_done; goto again }
			KILLED
			fi
		KILLED
		fi
	:: step == s_done -> skip
	fi
}

/* Once all is quiet, both sides are equal, and nothing is missing. */
proctype judge() {
	atomic {
		ended[0] && ended[1] && step == s_done && !closed && CAUGHT_UP(A) && CAUGHT_UP(B) ->
		has_all(A); has_all(B);
		if
		:: carried[A] != carried[B] || flag[A] != flag[B] || !flag[A] && !asked -> printf("FAULT: the sides differ at the end: child %d is carried on #0 and child %d on #1\n", carried[A], carried[B]); assert(false)
		:: else
		fi
	}
}

init {
	atomic {
		kids[A] = 1; kids[B] = 1; kids_acked = 1; next_kid = 1;
		if :: serves = A :: serves = B fi;
		run client(0); run client(1); run replication(); run swing(); run program(); run judge()
	}
}
