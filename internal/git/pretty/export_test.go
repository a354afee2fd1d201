package pretty

// Limit makes the bounds such that a test reaches them.
func (f *Formatter) Limit(work int64, history int) { f.work, f.history = work, history }
