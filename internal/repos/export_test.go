package repos

import "time"

// Forget makes the last walk of the root so much older.
func (c *Catalogue) Forget(age time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scanned = c.scanned.Add(-age)
}

// CountWalks returns how many walks of the root there were: after each, the time of
// the last is another one.
func (c *Catalogue) CountWalks() func() int {
	var last time.Time
	walks := 0
	return func() int {
		c.mu.RLock()
		defer c.mu.RUnlock()
		if time.Since(c.scanned) < time.Minute && c.scanned != last {
			last = c.scanned
			walks++
		}
		return walks
	}
}
