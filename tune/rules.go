package tune

// Rules are all rules, in the order in which a write goes down: memory and
// processor, server, filesystem, block layer, controller, device.
func Rules() []Rule {
	return []Rule{
		dbDoublewrite, dbFlush, dbDurable, dbNeighbors, dbIOCapacity, dbPageSize, dbGone, dbAIO,
		dbParallel,
		dbRocks,
		memSum, memSwap, memHugePages, memNUMA, memDirty, memAllocator, cpuGovernor, cpuClock, cpuWait,
		fsXFSGone, fsNoBarrier, fsAtime, fsXFSLayout, fsXFSGroups, fsXFSMisc, fsExt4Stripe, fsExt4Data, fsCopyOnWrite, fsAtomic,
		blkScheduler, blkSchedulerOld, blkRotational, blkReadAhead, blkCacheView, blkCacheOff, blkPowerLoss, blkRequests, blkMicro,
		blkInterrupts, blkAlign, blkDiscard,
		raidAlwaysBack, raidDriveCache, raidReadAhead, raidDegraded, raidChunk, raidHot, hwWear, hwHeat, hwNames, cloudInit,
	}
}
