/* The applier of a reshape (keep: applier): a program writes the carried column behind the clients, and leases say how old it is.
 *
 * One tenant with one row and its children, on both sides of an active-active pair. Children are numbered; the latest is the one
 * with the highest number. The binary log has whole rows: who writes the carried column sends the client's own column along, as
 * this side has it. The applier reads the log of one side, which has the writes of both. It takes no value from the log: it looks
 * for the latest child on the side that serves the tenant, and writes there. The application reads the carried column where the
 * lease of its server is good.
 *
 * A lease vouches for a moment: the children that were visible on its server then are carried. It never ends here: what it says
 * stays true, and real leases run out. Checked: where the tenant is served, a child that is vouched for is carried; no
 * acknowledged write is lost; at the end everything is applied and both sides are equal. What models/swing.pml has shown of every
 * handover is not shown again: models/README.md. Each guard is one NO_<GUARD>, listed in models/guards.tsv.
 */

#ifndef WRITES_0
#define WRITES_0 1  /* transactions of a client */
#endif
#ifndef WRITES_1
#define WRITES_1 0  /* of another client of the same tenant */
#endif
#ifndef KILLS
#define KILLS    0  /* kill -9 of the applier, which then goes on where its lease says */
#endif
#ifndef SWINGS
#define SWINGS   0  /* the side that serves leaves, and its twin serves */
#endif
#define L (2 * (WRITES_0 + WRITES_1) + 1) /* events of one side: a row that is right already is not written */

#define A    0
#define B    1
#define APPLIER 2            /* who locks the row: client 0, client 1, the applier */
#define FREE 3

/* The sides. Row: own column and carried column; kid: the latest child that can be seen. */
byte own[2], carried[2], kid[2];
byte locks[2] = FREE;        /* who holds the row */
byte late[2];                /* a child that is in the binary log of this side and cannot be seen yet; its client holds a lock on it */
bit  open_[6];               /* client k has a transaction on side s: [3*s + k]; the applier is the third */

/* Binary logs: whole rows, or a child. */
byte ev_kid[2*L];            /* 0: a row */
byte ev_own[2*L], ev_carried[2*L];
byte logged[2], applied[2];  /* applied[s]: how much of s its twin has applied */

bit  serves, closed;         /* routing of the tenant's key */
byte own_acked, kids;        /* what clients were acknowledged; children that were begun */
bit  ended[2];

/* The applier. */
bit  reads;                  /* the side whose log it reads */
byte pos[2];                 /* up to where it has read, by the side that wrote */
bit  waits;                  /* the row is still to be written */
bit  waits_at;               /* where the tenant was served when it was last looked at */
byte before[2];              /* up to where it had read before the change that waits */
bit  moment[2];              /* a lease is to be renewed on this side */
byte seen[2], goal[4];       /* the child that could be seen at that moment; what the binary log had: [2*s + who wrote] */

/* Leases, in the tables of the shard. */
byte vouched[2], kept[2];    /* the child that is carried on this side; up to where changes are applied */
byte kills = KILLS, swings = SWINGS;

#define OPEN(s)      (open_[3*(s)] || open_[3*(s)+1])
#define CAUGHT_UP(s) (applied[s] == logged[s])           /* the twin of s has all of s */
#define HAS(s, w)   ((s) == (w) -> logged[w] : applied[w]) /* how much of what a side wrote is in the log of s */

/* What must hold wherever the tenant is served, after every change of it. */
inline look_at(s) {
	if
	:: serves == s && !closed && carried[s] < vouched[s] ->
		printf("FAULT: #%d vouches for child %d, and child %d is carried\n", s, vouched[s], carried[s]); assert(false)
	:: else
	fi
}
inline log_row(s) {
	ev_own[(s)*L+logged[s]] = own[s]; ev_carried[(s)*L+logged[s]] = carried[s]; logged[s]++
}
inline has_all(s) {
	if
	:: own[s] != own_acked -> printf("FAULT: an acknowledged write is lost: #%d has value %d of the row, acknowledged is %d\n", s, own[s], own_acked); assert(false)
	:: else
	fi
}

/* A client's transaction: rules 2 to 4 of docs/reference/routing.md. It changes the row, or adds a child. */
#define WRITES(k) (k == 0 -> WRITES_0 : WRITES_1)
proctype client(byte k) {
	byte at, done, child;
	do
	:: done == WRITES(k) -> break
	:: done < WRITES(k) ->
		atomic { !closed -> at = serves; printf("client %d: looks: #%d\n", k, at) }
		atomic {
			if
			:: locks[at] == FREE -> locks[at] = k; open_[3*at+k] = 1; printf("client %d: locks the row on #%d\n", k, at)
			:: late[at] == 0 -> kids++; child = kids; open_[3*at+k] = 1; printf("client %d: adds child %d on #%d, not committed\n", k, child, at)
			fi
		}
		atomic {
			if
			:: closed || serves != at -> printf("client %d: second look: changed, ROLLBACK\n", k); goto rollback
			:: else
			fi
		}
		if
		:: child == 0 -> atomic { has_all(at); own[at]++; own_acked++; log_row(at); done++; printf("client %d: commits on #%d: value %d\n", k, at, own[at]) }
		:: else ->
			/* The binary log shows a transaction before its rows can be seen. */
			atomic { late[at] == 0 -> late[at] = child; ev_kid[at*L+logged[at]] = child; logged[at]++; printf("client %d: child %d is in the binary log of #%d\n", k, child, at) }
			atomic { kid[at] = (child > kid[at] -> child : kid[at]); late[at] = 0; done++; printf("client %d: child %d can be seen on #%d\n", k, child, at); look_at(at) }
		fi;
rollback:	atomic { if :: locks[at] == k -> locks[at] = FREE :: else fi; open_[3*at+k] = 0; at = 0; child = 0 }
	od;
	ended[k] = 1
}

/* Side r applies the next transaction of its twin: whole rows. It waits for who holds the row. */
#define NEXT(r) ((1-(r))*L+applied[1-(r)])
#define CAN_APPLY(r) (!CAUGHT_UP(1-(r)) && (ev_kid[NEXT(r)] != 0 || locks[r] == FREE))
inline apply(r) {
	if
	:: ev_kid[NEXT(r)] == 0 -> own[r] = ev_own[NEXT(r)]; carried[r] = ev_carried[NEXT(r)]
	:: ev_kid[NEXT(r)] > kid[r] -> kid[r] = ev_kid[NEXT(r)]
	:: else
	fi;
	applied[1-(r)]++;
	printf("server #%d: applies: value %d, child %d, carried %d\n", r, own[r], kid[r], carried[r]);
	look_at(r)
}
proctype replication() {
end:	do
	:: atomic { CAN_APPLY(A) -> apply(A) }
	:: atomic { CAN_APPLY(B) -> apply(B) }
	od
}

/* swing.Swing in short: gate, drain, barrier, flip. No run of reshape is open, so nothing keeps a swing away from the applier. Its
 * drain waits for clients, and for what Stowage itself has written and not committed. */
#ifndef NO_DRAIN
#define DRAINED (!OPEN(serves) && !open_[3*serves+2])
#else
#define DRAINED !OPEN(serves)
#endif
proctype swing() {
end:	do
	:: atomic { swings > 0 -> swings--; closed = 1; printf("stowage: a swing closes the gate of the tenant's clients\n") }
		atomic { DRAINED -> printf("stowage: swing: drained\n") }
		atomic { CAUGHT_UP(serves) -> serves = 1 - serves; closed = 0; printf("stowage: swing: flip to #%d\n", serves); look_at(serves) }
	od
}

/* Up to where changes are applied. */
#define APPLIED(w) (waits -> before[w] : pos[w])
/* Up to where they are for the lease of side s. */
#ifndef NO_PENDING
#ifndef NO_BOTH_SIDES
#define FOR_LEASE(s, w) APPLIED(w)
#else
#define FOR_LEASE(s, w) (waits && waits_at == (s) -> before[w] : pos[w])
#endif
#else
#define FOR_LEASE(s, w) pos[w]
#endif
#ifndef NO_KEPT_POSITION
#define KEEP(w) APPLIED(w)
#else
#define KEEP(w) pos[w]
#endif
#ifndef NO_LOCKING_READ
#define CAN_SEE(s) (late[s] == 0)
#else
#define CAN_SEE(s) true
#endif
#define KILLED :: atomic { kills > 0 -> kills--; printf("stowage: the applier is killed\n"); goto again }

/* reads one event of a side, if it is in the log that is read. */
inline read(w) {
	printf("stowage: the applier reads an event of #%d\n", w);
	if
	:: ev_kid[(w)*L+pos[w]] != 0 && !waits -> waits = 1; waits_at = serves; before[A] = pos[A]; before[B] = pos[B]
	:: else
	fi;
	pos[w]++
}
/* The moment that a lease of s is to vouch for: the clock is read, then the position. */
inline see(s) { seen[s] = kid[s]; printf("stowage: a moment on #%d: child %d can be seen\n", s, seen[s]) }
inline aim(s) { goal[2*(s)+A] = HAS(s, A); goal[2*(s)+B] = HAS(s, B); printf("stowage: a moment on #%d: the binary log ends here\n", s) }
#define REACHED(s) (FOR_LEASE(s, A) >= goal[2*(s)+A] && FOR_LEASE(s, B) >= goal[2*(s)+B])
inline grant(s) {
	vouched[s] = (seen[s] > vouched[s] -> seen[s] : vouched[s]); kept[A] = KEEP(A); kept[B] = KEEP(B); moment[s] = 0; seen[s] = 0; goal[2*(s)+A] = 0; goal[2*(s)+B] = 0;
	printf("stowage: the lease of #%d vouches for child %d\n", s, vouched[s]); look_at(s)
}
proctype applier() {
	bit s, at; byte sum;
again:
	/* Its connections have ended, and with them what it had open. It knows what its leases say. */
	atomic {
		if :: locks[A] == APPLIER -> locks[A] = FREE :: else fi;
		if :: locks[B] == APPLIER -> locks[B] = FREE :: else fi;
		open_[2] = 0; open_[5] = 0; waits = 0; waits_at = 0; before[A] = 0; before[B] = 0; moment[A] = 0; moment[B] = 0;
		seen[A] = 0; seen[B] = 0; goal[0] = 0; goal[1] = 0; goal[2] = 0; goal[3] = 0; pos[A] = kept[A]; pos[B] = kept[B]; at = 0; sum = 0; s = 0
	}
end:	do
	:: atomic { pos[A] < HAS(reads, A) -> read(A) }
	:: atomic { pos[B] < HAS(reads, B) -> read(B) }
	:: atomic { waits && !closed -> at = serves; waits_at = serves; printf("stowage: apply: looks: #%d\n", at) }
		/* One UPDATE: the row is locked, then its children are read with locks. A lock of a client's makes it come again later. */
		if
		:: atomic { locks[at] == FREE && CAN_SEE(at) -> locks[at] = APPLIER; open_[3*at+2] = 1; sum = kid[at]; printf("stowage: apply: locks the row on #%d, its latest child is %d\n", at, sum) }
#ifndef NO_SECOND_LOOK
			if
			:: atomic { closed || serves != at -> printf("stowage: apply: second look: changed, ROLLBACK\n"); locks[at] = FREE; open_[3*at+2] = 0; goto next }
			:: atomic { !closed && serves == at -> skip }
			fi;
#endif
			if
			:: atomic { true ->
				if
				:: sum != carried[at] -> carried[at] = sum; log_row(at)
				:: else
				fi;
				locks[at] = FREE; open_[3*at+2] = 0; waits = 0; waits_at = 0; before[A] = 0; before[B] = 0;
				printf("stowage: apply: commits on #%d: value %d, child %d is carried\n", at, own[at], carried[at]); look_at(at) }
			KILLED
			fi
		:: atomic { locks[at] != FREE || !CAN_SEE(at) -> printf("stowage: apply: a client holds it, later\n") }
		fi;
next:		at = 0; sum = 0
	:: atomic { !moment[A] && vouched[A] < kids -> s = A; moment[A] = 1 } goto look
	:: atomic { !moment[B] && vouched[B] < kids -> s = B; moment[B] = 1 } goto look
	:: atomic { moment[A] && REACHED(A) -> grant(A) }
	:: atomic { moment[B] && REACHED(B) -> grant(B) }
	KILLED
	od;
look:
#ifndef NO_CLOCK_FIRST
	atomic { see(s) } atomic { aim(s) }
#else
	atomic { aim(s) } atomic { see(s) }
#endif
	goto end
}

/* Once all is quiet, everything is applied, both sides are equal, and nothing is missing. */
proctype judge() {
	atomic {
		ended[0] && ended[1] && !closed && CAUGHT_UP(A) && CAUGHT_UP(B) && !waits && pos[A] == logged[A] && pos[B] == logged[B] ->
		has_all(A); has_all(B);
		if
		:: carried[A] != carried[B] || kid[A] != kid[B] || carried[serves] != kid[serves] ->
			printf("FAULT: everything is applied, and of child %d on #0 and child %d on #1, %d and %d are carried\n", kid[A], kid[B], carried[A], carried[B]); assert(false)
		:: else
		fi
	}
}

init {
	atomic {
		if :: serves = A :: serves = B fi;
		if :: reads = A :: reads = B fi;
		run client(0); run client(1); run replication(); run swing(); run applier(); run judge()
	}
}
