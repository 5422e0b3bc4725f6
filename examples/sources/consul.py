#!/usr/bin/env python3
"""Claims of a Consul catalogue: where a service's instances are, and whether their checks pass."""
import json
import sys
import urllib.request


def main(address, service):
    with urllib.request.urlopen(f"{address}/v1/health/service/{service}", timeout=20) as answer:
        entries = json.load(answer)
    claims = []
    for e in entries:
        host = e["Service"].get("Address") or e["Node"]["Address"]  # empty means the node's
        common = {"kind": "instance", "subject": e["Service"]["ID"], "place": f"{address}/v1/health/service/{service}"}
        claims.append({**common, "attribute": "address", "value": f"{host}:{e['Service']['Port']}"})
        passing = all(c["Status"] == "passing" for c in e["Checks"])
        claims.append({**common, "attribute": "alive", "value": "yes" if passing else "no"})
    json.dump(claims, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:3])
