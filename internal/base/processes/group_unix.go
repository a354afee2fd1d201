//go:build unix

package processes

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Own gives a program a session of its own, in which it has no terminal, and has all that it started sent a signal
// when the context of the command ends: git leaves the work to others. Call it before the command starts.
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

// Kill ends what is left of a program that had its time to clean up.
func Kill(command *exec.Cmd) {
	if command.Process != nil {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // mostly nothing is left
	}
}
