package cache

import "log/slog"

// Stats are counts since the start, but for Bytes and Entries.
type Stats struct {
	Bytes   int64 // on disk now, with what is being written
	Entries int64 // on disk now

	Evicted    int64 // files that were removed to make room
	Damaged    int64 // files that were dropped as altered or cut short
	DiskFaults int64 // what the disk refused to do
	Refused    int64 // builds that were too large to be kept

	Uploads       int64 // objects that became whole
	UploadDrops   int64 // uploads that were not begun, or given up as too slow
	UploadFaults  int64
	RemoteFaults  int64 // lookups, signatures and reads that failed or took too long
	RemoteDamaged int64 // objects that were removed as altered or cut short

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

// Stats returns the counts so far.
func (c *Cache) Stats() Stats {
	n, d, o := &c.count, c.disk, &c.objects.count
	d.mu.Lock()
	defer d.mu.Unlock()
	return Stats{
		Bytes: d.used, Entries: int64(d.recent.Len()), Evicted: d.count.evicted.Load(),
		Damaged: d.count.damaged.Load(), DiskFaults: d.count.faults.Load(), Refused: d.count.refused.Load(),
		Uploads: o.uploads.Load(), UploadDrops: o.drops.Load(), UploadFaults: o.uploadFaults.Load(),
		RemoteFaults: o.faults.Load(), RemoteDamaged: o.damaged.Load(),
		Hits: n.hits.Load(), RemoteHits: n.remoteHits.Load(), Shared: n.shared.Load(), Builds: n.builds.Load(),
		Failures: n.failures.Load(), Abandoned: n.abandoned.Load(), Lost: n.lost.Load(),
		LeaseFaults: n.leaseFaults.Load(), LeaseWaits: n.leaseWaits.Load(),
	}
}

// LogValue implements [slog.LogValuer]: each count by its name.
func (s Stats) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Int64("bytes", s.Bytes), slog.Int64("entries", s.Entries), slog.Int64("evicted", s.Evicted),
		slog.Int64("refused", s.Refused), slog.Int64("disk_faults", s.DiskFaults), slog.Int64("damaged", s.Damaged),
		slog.Int64("uploads", s.Uploads), slog.Int64("upload_drops", s.UploadDrops),
		slog.Int64("upload_faults", s.UploadFaults),
		slog.Int64("remote_faults", s.RemoteFaults), slog.Int64("remote_damaged", s.RemoteDamaged),
		slog.Int64("hits", s.Hits), slog.Int64("remote_hits", s.RemoteHits), slog.Int64("shared", s.Shared),
		slog.Int64("builds", s.Builds),
		slog.Int64("failures", s.Failures), slog.Int64("abandoned", s.Abandoned), slog.Int64("lost", s.Lost),
		slog.Int64("lease_faults", s.LeaseFaults), slog.Int64("lease_waits", s.LeaseWaits),
	)
}
