//go:build !unix

package conns

// descriptors has no limit here.
func descriptors() int { return 2 * mostConnections }
