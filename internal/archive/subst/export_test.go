package subst

// Limit makes the bounds such that a test reaches them.
func (e *Expander) Limit(work int64, history int) { e.work, e.history = work, history }
