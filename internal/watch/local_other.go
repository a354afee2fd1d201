//go:build !linux

package watch

// isLocal returns false: it is unknown which changes other kernels report, and polling is right
// everywhere.
func isLocal(string) bool { return false }
