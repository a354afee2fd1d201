//go:build !unix

package refresh

import "os/exec"

// ownGroup does nothing: without groups of processes the program alone is ended.
func ownGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
