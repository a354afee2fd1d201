package cache

import (
	"log/slog"
	"reflect"
)

// Stats are counts since the start, except Bytes and Entries. Tags are their names in logs.
type Stats struct {
	Bytes      int64 `log:"bytes"`       // on disk now, including unfinished files
	Entries    int64 `log:"entries"`     // on disk now
	Evicted    int64 `log:"evicted"`     // files removed to make room
	Refused    int64 `log:"refused"`     // builds too large to be kept
	DiskFaults int64 `log:"disk_faults"` // failed disk operations
	Damaged    int64 `log:"damaged"`     // files dropped as altered or truncated

	Uploads       int64 `log:"uploads"`      // completed uploads
	UploadDrops   int64 `log:"upload_drops"` // uploads not begun, or cancelled as too slow
	UploadFaults  int64 `log:"upload_faults"`
	RemoteFaults  int64 `log:"remote_faults"`  // failed or slow lookups, signatures and reads
	RemoteDamaged int64 `log:"remote_damaged"` // objects removed as altered or truncated

	Hits       int64 `log:"hits"`        // requests served from the disk
	RemoteHits int64 `log:"remote_hits"` // requests that found an object
	Shared     int64 `log:"shared"`      // requests that joined a build
	Builds     int64 `log:"builds"`
	Failures   int64 `log:"failures"`  // failed builds
	Abandoned  int64 `log:"abandoned"` // builds cancelled without readers
	Lost       int64 `log:"lost"`      // clients that had to continue with another build

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

// LogValue implements [slog.LogValuer].
func (s Stats) LogValue() slog.Value {
	counts := reflect.ValueOf(s)
	list := make([]slog.Attr, counts.NumField())
	for i := range list {
		list[i] = slog.Int64(counts.Type().Field(i).Tag.Get("log"), counts.Field(i).Int())
	}
	return slog.GroupValue(list...)
}
