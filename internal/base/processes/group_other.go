//go:build !unix

package processes

import (
	"os/exec"
	"syscall"
)

// Own does nothing: without groups of processes the program alone is ended.
func Own(*exec.Cmd, syscall.Signal) {}

// Kill does nothing.
func Kill(*exec.Cmd) {}
