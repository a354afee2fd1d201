package uploadpack

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/repomcp/repomcp/internal/base/processes"
)

const (
	// replyBuffer is the capacity of a pipe on Linux.
	replyBuffer = 64 << 10
	// endTime is how long pipes may stay open after the end of the program.
	endTime = 5 * time.Second
)

// Reply is the output of a running git. It is whole when Read has returned [io.EOF]; a failure of git is another
// error. Close it.
type Reply struct {
	session *Session
	command *exec.Cmd
	out     *bufio.Reader
	said    *processes.Tail
	refusal bool // git sends nothing but an error line
	ended   bool
	err     error // of the program
}

// run starts git. A failure before the first byte of output is an error here.
func (s *Session) run(input io.Reader, args ...string) (*Reply, error) {
	program := s.engine.options.Program.Path
	command := exec.CommandContext(s.ctx, program, args...) //nolint:gosec // the operator's, with arguments of ours
	command.Dir, command.Env = s.folder, environment(program, s.folder)
	if s.version != "" {
		command.Env = append(command.Env, "GIT_PROTOCOL="+s.version)
	}
	processes.Own(command, syscall.SIGKILL)
	command.WaitDelay = endTime
	r := &Reply{session: s, command: command, said: &processes.Tail{}}
	command.Stdin, command.Stderr = input, r.said
	out, err := command.StdoutPipe()
	if err == nil {
		err = processes.Start(command)
	}
	if err != nil {
		return nil, machineError(err)
	}
	r.out = bufio.NewReaderSize(out, replyBuffer)
	if _, err := r.out.Peek(1); err != nil {
		return r, refusalOf(r.end())
	}
	head, _ := r.out.Peek(lengthDigits + len(errorMark)) // a shorter reply is no refusal
	r.refusal = bytes.HasSuffix(head, errorMark) && len(head) == lengthDigits+len(errorMark)
	return r, nil
}

// errorMark begins the error line of git's protocol (gitprotocol-pack(5)).
var errorMark = []byte("ERR ")

// Read implements [io.Reader]. After an error line git ends with a failure, but the reply is whole.
func (r *Reply) Read(p []byte) (int, error) {
	if r.ended {
		return 0, cmp.Or(r.err, io.EOF)
	}
	n, err := r.out.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if err := r.end(); err != nil && !r.refusal {
		return n, err
	}
	return n, io.EOF
}

// end waits for the program.
func (r *Reply) end() error {
	if r.ended {
		return r.err
	}
	r.ended = true
	err := r.command.Wait()
	switch cause := r.session.ctx.Err(); {
	case err == nil:
	case r.session.engine.ended.Err() != nil:
		r.err = ErrClosed
	case cause != nil:
		r.err = cause
	default:
		r.err = &FailureError{said: fmt.Sprintf("%v: %s", err, r.said)}
	}
	return r.err
}

// Close ends the program and waits for it. It returns nil.
func (r *Reply) Close() error {
	if r.ended {
		return nil
	}
	processes.Kill(r.command)
	r.ended = true
	_ = r.command.Wait() // it was killed
	return nil
}

// refusals begin git's messages about a request that it does not serve, as opposed to those about the mirror.
var refusals = []string{
	"ambiguous deepen-not", "Invalid deepen", "Invalid depth", "unknown capability", "unexpected line",
	"unexpected argument", "invalid command", "command ", "no command requested", "protocol error",
	"invalid filter-spec", "filter ", "expected", "unknown object format", "mismatched object format", "unknown ref",
	"invalid shallow line",
}

// refusalOf makes a failure of git's that is about the request a [*RefusedError].
func refusalOf(err error) error {
	var failure *FailureError
	if !errors.As(err, &failure) {
		return err
	}
	_, said, _ := strings.Cut(failure.said, "fatal: ")
	said = strings.TrimPrefix(said, "git upload-pack: ")
	if !slices.ContainsFunc(refusals, func(begin string) bool { return strings.HasPrefix(said, begin) }) {
		return err
	}
	said, _, _ = strings.Cut(said, "\n")
	return &RefusedError{"upload-pack: " + said}
}

// RefusedError is a request that git does not serve, with git's own words.
type RefusedError struct{ said string }

func (e *RefusedError) Error() string { return e.said }

// FailureError has the end of git's messages: the mirror is damaged or incomplete, or git does not understand the
// request. It is for the operator.
type FailureError struct{ said string }

func (e *FailureError) Error() string { return "git failed: " + e.said }
