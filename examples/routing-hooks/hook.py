"""What every program for `routing: {kind: exec}` does: docs/reference/routing.md, exec.

A program of its own calls serve(apply), where apply(table) makes its clients be
sent by the table, or raises an exception and has changed nothing, or may be
called again with the same table.
"""
import fcntl, json, os, sys

CONFLICT = 3


def serve(apply, state):
    """Answers the question on standard input. state: a directory of the program's own."""
    os.makedirs(state, mode=0o700, exist_ok=True)
    path = os.path.join(state, "table.json")
    with open(os.path.join(state, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a call that was given up may still be at work
        question = json.load(sys.stdin)
        if question["do"] == "read":
            with open(path) as f:
                sys.stdout.write(f.read())
            return
        generation = 0
        if os.path.exists(path):
            with open(path) as f:
                generation = json.load(f)["generation"]
        if generation != question["from"]:
            print("generation %d is in force" % generation, file=sys.stderr)
            sys.exit(CONFLICT)
        try:
            apply(question["table"])
        except Exception as e:
            undo(apply, path)
            print(e, file=sys.stderr)
            sys.exit(1)
        with open(path + ".new", "w") as f:
            json.dump(question["table"], f)
            f.flush()
            os.fsync(f.fileno())
        os.rename(path + ".new", path)


def undo(apply, path):
    """A change that failed half-way is taken back: exit code 1 says that nothing was changed."""
    if os.path.exists(path):
        with open(path) as f:
            apply(json.load(f))


def served(table):
    """Each pair and home, the address that serves it, and whether its gate is open."""
    for name, pair in sorted(table["pairs"].items()):
        for home in ("A", "B"):
            routes = [r for r in pair["routes"] if r["home"] == home]
            if not routes:
                continue
            sides = {r["side"] for r in routes}
            if len(sides) > 1:  # a share of a side's clients: only some keys
                raise ValueError("%s: side %s is shared by two servers, and this program sends all clients of a side to one" % (name, home))
            yield name, home, pair["sides"][sides.pop()]["address"], all(r["gate"] == "open" for r in routes)
