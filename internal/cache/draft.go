package cache

import "time"

// draft is an unfinished file. It is used by one goroutine.
type draft struct {
	disk     *Disk
	key      Key
	name     string // without the suffix of unfinished files
	file     file   // belongs to the spool
	length   int64
	reserved int64
}

// create begins a file. It returns nil if the disk is disabled or fails.
func (d *Disk) create(key Key) *draft {
	if d.folder == nil {
		return nil
	}
	d.mu.Lock()
	paused := time.Now().Before(d.paused)
	d.mu.Unlock()
	if paused {
		return nil
	}
	w := &draft{disk: d, key: key, name: newName(key)}
	f, err := d.folder.create(w.name + temporary)
	if err != nil {
		d.fault()
		return nil
	}
	w.file = f
	return w
}

// reserve takes bytes of the limit before they are written.
func (w *draft) reserve(total int64) bool {
	d := w.disk
	more := total - w.reserved
	d.mu.Lock()
	if total > d.limit/largestShare {
		d.mu.Unlock()
		return false
	}
	names := d.evict(more)
	ok := d.used+more <= d.limit
	if ok {
		d.used += more
		w.reserved = total
	}
	d.mu.Unlock()
	d.remove(names)
	return ok
}

// write appends bytes. After false the draft is unusable.
func (w *draft) write(p []byte) bool {
	if !w.reserve(cost(w.length + int64(len(p)))) {
		w.disk.count.refused.Add(1)
		w.discard()
		return false
	}
	if _, err := w.file.WriteAt(p, w.length); err != nil {
		w.disk.fault()
		w.discard()
		return false
	}
	w.length += int64(len(p))
	return true
}

// commit seals the bytes, and renames the file at the end. The draft is unusable afterwards.
func (w *draft) commit(s seal) {
	d := w.disk
	table, footer := s.encode(w.key)
	if !w.write(append(table, footer...)) {
		return
	}
	d.mu.Lock()
	when := d.tick()
	d.mu.Unlock()
	err := w.file.Sync()
	if err == nil {
		err = d.folder.touch(w.name+temporary, when)
	}
	if err == nil {
		err = d.folder.rename(w.name+temporary, w.name)
	}
	if err != nil {
		d.fault()
		w.discard()
		// The file may have its name, but not durably.
		_ = d.folder.remove(w.name)
		return
	}
	d.mu.Lock()
	names := append(d.insert(&stored{key: w.key, name: w.name, cost: w.reserved}), d.evict(0)...)
	d.mu.Unlock()
	d.remove(names)
}

// discard removes the file. Its readers can continue.
func (w *draft) discard() {
	d := w.disk
	d.mu.Lock()
	d.used -= w.reserved
	w.reserved = 0
	d.mu.Unlock()
	d.remove([]string{w.name + temporary})
}
