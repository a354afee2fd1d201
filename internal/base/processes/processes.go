// Package processes starts programs so that none of their processes is left behind: each program has a process group of
// its own, which ends with it, and [Tail] keeps the end of its standard error. Where memory is short, the kernel ends a
// program that [Start] has started, and not the server.
package processes

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// firstToEnd is the highest value of oom_score_adj, which child processes inherit (proc_pid_oom_score_adj(5)).
const firstToEnd = "1000"

// Start starts a program as the first one that the kernel ends where memory is short. Other systems than Linux choose
// for themselves.
func Start(command *exec.Cmd) error {
	if err := command.Start(); err != nil {
		return err
	}
	file := "/proc/" + strconv.Itoa(command.Process.Pid) + "/oom_score_adj"
	_ = os.WriteFile(file, []byte(firstToEnd), 0) // it has ended already, or there is no such file
	return nil
}

// maxTailBytes bounds the end of a failed program's output in the log.
const maxTailBytes = 500

// Tail keeps the end of what is written. The zero value is ready to use, by one goroutine at a time.
type Tail struct{ last []byte }

// Write implements [io.Writer], and never fails.
func (t *Tail) Write(b []byte) (int, error) {
	t.last = append(t.last, b[max(0, len(b)-maxTailBytes):]...)
	t.last = t.last[max(0, len(t.last)-maxTailBytes):]
	return len(b), nil
}

func (t *Tail) String() string {
	return strings.TrimSpace(strings.ToValidUTF8(string(t.last), "\uFFFD"))
}
