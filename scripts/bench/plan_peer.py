"""What `stowage plan` is measured beside, and the counting of its packings.

    plan_peer.py FOLDER K SEED instance|shard   packs a generated farm with the public prototype; prints the hosts for one side
                                                and the seconds. FOLDER holds gen_farm.py and spread.py
    plan_peer.py check FILE.vbp PLAN.json       counts a packing of a public instance again; fails when it is wrong
"""
import json
import sys
import time


def pack(folder, k, seed, unit):
    sys.path.insert(0, folder)
    import numpy as np
    import gen_farm
    import spread

    sizes, pair, _, _ = gen_farm.gen(k, seed)
    room = gen_farm.usable('ssd7.7')
    if unit == 'instance':  # at most six on a host: one more dimension
        sizes = gen_farm.instances(sizes, pair)
        sizes = np.hstack([sizes, np.ones((len(sizes), 1))])
        room = np.append(room, 6)
    low = int(np.ceil((sizes.sum(0) / room).max() - 1e-9))
    start = time.time()
    hosts, _ = spread.search(sizes, room, low, low + max(2, low // 25))
    print(hosts, round(time.time() - start, 1))


def check(instance, plan):
    words = iter(open(instance).read().split())
    dims = int(next(words))
    room = [int(next(words)) for _ in range(dims)]
    items = []
    for _ in range(int(next(words))):
        size = [int(next(words)) for _ in range(dims)]
        items += [size] * int(next(words))
    plan = json.load(open(plan))
    loads = {}
    for size, at in zip(items, plan['assignments'], strict=True):
        load = loads.setdefault(at, [0] * dims)
        for d, v in enumerate(size):
            load[d] += v
    if len(loads) != plan['hosts_used'] or plan['lower_bound'] > len(loads):
        sys.exit('%d bins are used, %d said to be, and at least %d needed' % (len(loads), plan['hosts_used'], plan['lower_bound']))
    if any(v > room[d] for load in loads.values() for d, v in enumerate(load)):
        sys.exit('a bin is overfull')


if sys.argv[1] == 'check':
    check(sys.argv[2], sys.argv[3])
else:
    pack(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
