package cache

// Stats are counts since the start, but for Bytes and Entries.
type Stats struct {
	DiskStats
	ObjectStats
	BuildStats
}

// BuildStats count what requests led to.
type BuildStats struct {
	Hits       int64 // requests that the disk answered
	RemoteHits int64 // requests that found an object
	Shared     int64 // requests that joined others
	Builds     int64
	Failures   int64 // builds that ended in an error
	Abandoned  int64 // builds that were cancelled since nobody was left
	Lost       int64 // clients that had to go on with another build

	LeaseFaults int64
	LeaseWaits  int64 // builds that waited for another replica's
}

// Stats are the counts so far.
func (c *Cache) Stats() Stats {
	n := &c.count
	return Stats{
		DiskStats: c.disk.stats(), ObjectStats: c.objects.stats(),
		BuildStats: BuildStats{
			Hits: n.hits.Load(), RemoteHits: n.remoteHits.Load(), Shared: n.shared.Load(), Builds: n.builds.Load(),
			Failures: n.failures.Load(), Abandoned: n.abandoned.Load(), Lost: n.lost.Load(),
			LeaseFaults: n.leaseFaults.Load(), LeaseWaits: n.leaseWaits.Load(),
		},
	}
}
