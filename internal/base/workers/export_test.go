package workers

// MaxCredit is for tests.
const MaxCredit = maxCredit

// Clients is how many are known.
func (s *Scheduler) Clients() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.clients)
}
