package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

const (
	schemeStdio = "stdio:"
	// grace is how long a program may take to end after the end of its input. Then it is killed. It is also how long
	// the end of the input of a connection may take that cannot be written to.
	grace = 5 * time.Second
	// lastWords and lastLines bound the end of a program's standard error that a failure reports.
	lastWords = 4 << 10
	lastLines = 10
)

// ErrProgramEnded says that the program of a stdio: endpoint has ended, or could not be started. A client does
// not start it again, since the state of earlier requests could be lost. It comes with [ErrNetwork].
var ErrProgramEnded = errors.New("the server's program has ended")

// splitCommand splits the command of a stdio endpoint at spaces. Two quotes of one kind, " or ',
// make everything between them part of one word. There are no escapes, variables, patterns or
// operators.
func splitCommand(text string) (words []string, err error) {
	var word strings.Builder
	begun, quote := false, rune(0)
	for _, c := range text {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, begun = c, true
		case quote == 0 && strings.ContainsRune(" \t\r\n", c):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c in %q is not closed", quote, text)
	}
	return words, nil
}

// startCommand starts a program that serves over its standard streams. The program outlives ctx,
// which is that of the first request.
func startCommand(words []string) (carrier, error) {
	program := exec.CommandContext(context.Background(), words[0], words[1:]...) //nolint:gosec // chosen by the caller
	program.WaitDelay = grace
	said := &tail{most: lastWords}
	program.Stderr = said
	in, err := program.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := program.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := program.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProgramEnded, err)
	}
	return newPipe(out, in, func(reason error) error {
		_ = in.Close() // the program may have ended
		if !errors.Is(reason, io.ErrUnexpectedEOF) {
			_ = out.Close() // likewise; further output is not wanted
		}
		timer := time.AfterFunc(grace, func() { _ = program.Process.Kill() }) // likewise
		ended := program.Wait()
		timer.Stop()
		if reason == nil {
			return nil
		}
		reason = fmt.Errorf("%w: %w", ErrProgramEnded, reason)
		if ended != nil {
			reason = fmt.Errorf("%w; %w", reason, ended)
		}
		if words := said.words(); words != "" {
			reason = fmt.Errorf("%w; it wrote: %s", reason, words)
		}
		return reason
	}), nil
}

// tail keeps the end of its input.
type tail struct {
	most int
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = bytes.Clone(t.text[max(0, len(t.text)-t.most):])
	return len(p), nil
}

func (t *tail) words() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.text), []byte{'\n'})
	last := bytes.Join(lines[max(0, len(lines)-lastLines):], []byte{'\n'})
	return strings.ToValidUTF8(string(last), "\uFFFD")
}
