//go:build !unix

package httpx

// descriptors has no limit here.
func descriptors() int { return 2 * mostConnections }
