package cache

import (
	"log/slog"
	"reflect"
)

// Stats are counts since the start, but for Bytes and Entries. Tags are their names in logs.
type Stats struct {
	Bytes      int64 `log:"bytes"`       // on disk now, with what is being written
	Entries    int64 `log:"entries"`     // on disk now
	Evicted    int64 `log:"evicted"`     // files that were removed to make room
	Refused    int64 `log:"refused"`     // builds that were too large to be kept
	DiskFaults int64 `log:"disk_faults"` // what the disk refused to do
	Damaged    int64 `log:"damaged"`     // files that were dropped as altered or cut short

	Uploads       int64 `log:"uploads"`      // objects that became whole
	UploadDrops   int64 `log:"upload_drops"` // uploads that were not begun, or given up as too slow
	UploadFaults  int64 `log:"upload_faults"`
	RemoteFaults  int64 `log:"remote_faults"`  // lookups, signatures and reads that failed or took too long
	RemoteDamaged int64 `log:"remote_damaged"` // objects that were removed as altered or cut short

	Hits       int64 `log:"hits"`        // requests that the disk answered
	RemoteHits int64 `log:"remote_hits"` // requests that found an object
	Shared     int64 `log:"shared"`      // requests that joined others
	Builds     int64 `log:"builds"`
	Failures   int64 `log:"failures"`  // builds that ended in an error
	Abandoned  int64 `log:"abandoned"` // builds that were cancelled since nobody was left
	Lost       int64 `log:"lost"`      // clients that had to go on with another build

	LeaseFaults int64 `log:"lease_faults"`
	LeaseWaits  int64 `log:"lease_waits"` // builds that waited for another replica's
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
	counts := reflect.ValueOf(s)
	list := make([]slog.Attr, counts.NumField())
	for i := range list {
		list[i] = slog.Int64(counts.Type().Field(i).Tag.Get("log"), counts.Field(i).Int())
	}
	return slog.GroupValue(list...)
}
