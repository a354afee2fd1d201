//go:build unix

package processes

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Own gives a program a session of its own, without a terminal. When the context of the command ends, all of its
// processes get the signal, because git delegates work to child processes. Call it before the command starts.
func Own(command *exec.Cmd, signal syscall.Signal) {
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	command.Cancel = func() error {
		err := syscall.Kill(-command.Process.Pid, signal)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}

// Kill kills the remaining processes after the grace period.
func Kill(command *exec.Cmd) {
	if command.Process != nil {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // mostly nothing is left
	}
}
