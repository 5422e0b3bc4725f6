#!/usr/bin/env python3
"""A client that follows a live move: the rules of docs/reference/routing.md, by number."""
import configparser, itertools, json, os, signal, sys, time, zlib
from collections import namedtuple

import pymysql

Route = namedtuple("Route", "address gate")
READ_ONLY, CONNECTION_GONE = 1290, (0, 1053, 1927, 2003, 2006, 2013)
NOT_HERE = 1146, 1049, 3989  # no such table, no such database, read-only database


class Routing:
    """routing.json, read again when it has changed."""

    def __init__(self, path):
        self.path, self.stamp, self.table = path, None, None

    def look(self, shard, key):
        try:
            return self.read(shard, key)
        except (OSError, ValueError, KeyError, TypeError):
            return Route(None, "closed")  # missing, unreadable or garbage: wait

    def read(self, shard, key):
        st = os.stat(self.path)
        if (st.st_mtime_ns, st.st_ino) != self.stamp:
            with open(self.path) as f:
                st, table = os.fstat(f.fileno()), json.load(f)
            if table["format_version"] != 1:
                sys.exit("routing.json: format_version %s is not 1" % table["format_version"])
            if self.table and table["generation"] < self.table["generation"]:
                return Route(None, "closed")  # somebody has put an old one there: wait
            self.table, self.stamp = table, (st.st_mtime_ns, st.st_ino)
        serving = [p for p in self.table["pairs"].values() if shard in (p["shards"] or [])]
        if len(serving) != 1:
            return Route(None, "closed")  # on its way from one pair to another: wait
        pair, = serving
        slot = zlib.crc32(key.encode()) % pair["slots"]
        for r in pair["routes"]:
            if r["from"] <= slot <= r["to"]:
                return Route(pair["sides"][r["side"]]["address"], r["gate"])


class Client:
    """One key's stream of work in one shard: one connection, one thread."""

    def __init__(self, routing, account, shard, key):
        self.routing, self.account, self.shard, self.key = routing, account, shard, key
        self.connection, self.address, self.generation = None, None, None

    def look(self):
        return self.routing.look(self.shard, self.key)

    def cursor(self):
        """Rules 1 to 3: where the key is served now, and a connection to it."""
        while True:
            route, looked = self.look(), time.monotonic()
            if route.gate != "open":
                time.sleep(0.003)
                continue
            self.generation = self.routing.table["generation"]
            if self.connection is None or route.address != self.address:
                self.close()
                host, port = route.address.rsplit(":", 1)
                self.connection = pymysql.connect(host=host, port=int(port), database=self.shard, autocommit=True, ssl_disabled=True, **self.account)
                self.address = route.address
            if time.monotonic() - looked < 0.02:
                return self.connection.cursor(), route

    def close(self):
        if self.connection is not None:
            try:
                self.connection.close()
            except pymysql.Error:
                pass  # it was lost already
        self.connection = None

    def transaction(self, first, work, was_written):
        """Runs one transaction exactly once.

        first        its first statement, (sql, arguments), which finds or locks rows
        work         work(cursor, rows of first) sends the rest
        was_written  was_written(cursor) tells whether it was applied; it reads with FOR UPDATE
        """
        unknown = False
        while True:
            committing = False
            try:
                cur, route = self.cursor()
                if unknown and was_written(cur):
                    return
                unknown = False
                cur.execute("BEGIN")
                cur.execute(*first)
                rows = cur.fetchall()
                if self.look() != route:  # rule 4
                    self.connection.rollback()
                    continue
                work(cur, rows)
                committing = True
                self.connection.commit()
                return
            except Exception as e:
                self.close()  # the server rolls back what was open
                code = e.args[0] if isinstance(e, pymysql.Error) and e.args else None
                if code in CONNECTION_GONE or isinstance(e, OSError):  # rule 5
                    unknown = unknown or committing
                elif code in NOT_HERE and self.look() and self.routing.table["generation"] != self.generation:
                    pass  # the shard has gone elsewhere, and this came late
                elif code != READ_ONLY:  # that one is refused as a whole, even by COMMIT
                    raise  # an error of the application's own
                time.sleep(0.005)


def main(workspace, shard, key):
    accounts = configparser.ConfigParser(interpolation=None)
    accounts.read(os.path.join(workspace, "accounts.cnf"))
    account = {k: accounts["client"][k] for k in ("user", "password")}
    client = Client(Routing(os.path.join(workspace, "routing.json")), account, shard, key)
    cur, _ = client.cursor()
    cur.execute("SELECT n FROM followed WHERE k = %s", (key,))
    ends = []
    signal.signal(signal.SIGTERM, lambda *_: ends.append(True))  # behind a whole transaction
    for n in itertools.count(cur.fetchone()[0] + 1):
        if ends:
            return client.close()
        client.transaction(
            ("SELECT n FROM followed WHERE k = %s FOR UPDATE", (key,)),
            lambda cur, rows: cur.execute("UPDATE followed SET n = %s WHERE k = %s", (rows[0][0] + 1, key)),
            lambda cur: cur.execute("SELECT 1 FROM followed WHERE k = %s AND n >= %s FOR UPDATE", (key, n)) > 0)
        print(n, client.address, flush=True)
        time.sleep(0.01)  # the pace of this application


if __name__ == "__main__":
    main(*sys.argv[1:])
