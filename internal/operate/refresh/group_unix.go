//go:build unix

package refresh

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives a program a session of its own, in which it has no terminal, and has all
// that it started told to end when its time is over: git leaves the work to others.
func ownGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	command.Cancel = func() error {
		err := syscall.Kill(-command.Process.Pid, syscall.SIGTERM)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}

// killGroup ends what is left of a program that had its time to clean up.
func killGroup(command *exec.Cmd) {
	if command.Process != nil {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // mostly nothing is left
	}
}
