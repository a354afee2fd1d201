//go:build !windows

package checkout

// hasModes says that files are executable or not.
const hasModes = true
