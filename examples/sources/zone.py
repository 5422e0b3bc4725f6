#!/usr/bin/env python3
"""Claims of a DNS zone file: the addresses of hosts, one A record each.

Knows $ORIGIN, @, an owner left blank, and names without a final dot. A name with several A records is a
pool and no host, and is left out; so are CNAMEs.
"""
import json
import re
import sys


def main(path, origin):
    origin = origin.rstrip(".") + "."
    zone, owner, found = origin, origin, {}
    for number, line in enumerate(open(path), 1):
        text = line.split(";", 1)[0].rstrip()
        if not text:
            continue
        words = text.split()
        if words[0].upper() == "$ORIGIN":
            origin = words[1] if words[1].endswith(".") else f"{words[1]}.{origin}"
            continue
        if not text[0].isspace():
            owner = words.pop(0)
            owner = origin if owner == "@" else owner if owner.endswith(".") else f"{owner}.{origin}"
        while words and (re.fullmatch(r"\d+[smhdwSMHDW]?", words[0]) or words[0].upper() == "IN"):
            words.pop(0)
        if len(words) == 2 and words[0].upper() == "A":
            found.setdefault(owner, []).append((words[1], number))
    claims = []
    for name, records in sorted(found.items()):
        host = name.removesuffix("." + zone).rstrip(".")
        if len(records) == 1 and name != zone:
            claims.append({"kind": "host", "subject": host, "attribute": "address", "value": records[0][0], "place": path, "line": records[0][1]})
    json.dump(claims, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:3])
