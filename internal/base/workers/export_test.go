package workers

// Clients is how many have open queues.
func (s *Scheduler) Clients() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.clients)
}
