package refresh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/repomcp/repomcp/internal/base/processes"
)

// gracePeriod is the time for cleaning up after SIGTERM: git removes its locks.
const gracePeriod = 2 * time.Second

// program is a hook that is a program. It runs without a shell, in the mirror's folder, with the
// repository's name as its argument.
type program struct{ path string }

// newProgram finds the program.
func newProgram(hook string) (*program, error) {
	found, err := exec.LookPath(hook)
	if err != nil {
		return nil, fmt.Errorf("there is no such program: %w", withoutName(err))
	}
	// The program runs in other folders.
	absolute, err := filepath.Abs(found)
	if err != nil {
		return nil, err
	}
	return &program{absolute}, nil
}

func withoutName(err error) error {
	if e := (*exec.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// call implements hook. Success is exit code 0. Background processes that outlive a successful
// program are left alone.
func (p *program) call(ctx context.Context, m mirror) error {
	fetched := ""
	if !m.fetched.IsZero() {
		fetched = m.fetched.UTC().Format(time.RFC3339)
	}
	//nolint:gosec // the operator named it, and the catalogue has the name
	command := exec.CommandContext(ctx, p.path, m.name)
	command.Dir = m.folder
	command.Env = append(os.Environ(), "REPOMCP_MIRROR="+m.folder, "REPOMCP_FETCHED="+fetched,
		"GIT_TERMINAL_PROMPT=0") // there is no terminal
	said := &processes.Tail{}
	command.Stdout, command.Stderr = said, said
	processes.Own(command, syscall.SIGTERM)
	command.WaitDelay = gracePeriod
	err := processes.Start(command)
	if err == nil {
		err = command.Wait()
	}
	if err != nil && ctx.Err() != nil {
		processes.Kill(command)
	}
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil:
		return nil
	case said.String() == "":
		return err
	default:
		return fmt.Errorf("%w: %s", err, said)
	}
}

func (p *program) close() {}
