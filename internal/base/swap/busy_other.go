//go:build !linux && !darwin && !windows

package swap

// IsBusy returns false: this system does not report it.
func IsBusy(error) bool { return false }
