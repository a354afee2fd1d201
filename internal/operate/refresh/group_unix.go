//go:build unix

package refresh

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives a program a session of its own, without a terminal. At its timeout all of its
// processes get the signal, because git delegates work to child processes.
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

// killGroup kills the remaining processes after the grace period.
func killGroup(command *exec.Cmd) {
	if command.Process != nil {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // usually there are none
	}
}
