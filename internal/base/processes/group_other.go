//go:build !unix

package processes

import (
	"os/exec"
	"syscall"
)

// Own does nothing: without process groups only the program itself is ended.
func Own(*exec.Cmd, syscall.Signal) {}

// Kill does nothing.
func Kill(*exec.Cmd) {}
