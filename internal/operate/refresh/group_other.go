//go:build !unix

package refresh

import "os/exec"

// ownGroup does nothing: without process groups only the program itself is ended.
func ownGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
