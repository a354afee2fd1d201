package uploadpack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/repos"
)

// Oldest is the oldest version of git that is used.
const Oldest = "2.39"

// The parts of [Oldest].
const (
	oldestMajor = 2
	oldestMinor = 39
)

// versionTimeout is how long git may take to tell its version.
const versionTimeout = 10 * time.Second

// Program is a git of [Oldest] or later.
type Program struct {
	Path    string // absolute
	Version string // such as 2.39.5
	// multiIndex is the highest version of multi-pack-indexes that it reads: it fails at another one, unless it is told
	// to ignore them.
	multiIndex int
}

// The version of git from which on it reads, and writes, multi-pack-indexes of version 2.
const (
	multiIndexMajor = 2
	multiIndexMinor = 54
)

var versionForm = regexp.MustCompile(`^git version ((\d+)\.(\d+)[^\s]*)`)

// Off is the setting for no program.
const Off = "off"

// Choose is [Find] with an operator's setting: the name or path of a program, "" for git in the PATH, or [Off], which
// gives the zero value.
func Choose(ctx context.Context, name string) (Program, error) {
	if name == Off {
		return Program{}, nil
	}
	return Find(ctx, cmp.Or(name, "git"))
}

// Find looks for git by its name or path, and asks for its version. The error is for the operator.
func Find(ctx context.Context, name string) (Program, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return Program{}, fmt.Errorf("there is no program %s", name)
	}
	if path, err = filepath.Abs(path); err != nil {
		return Program{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, path, "version") //nolint:gosec // the operator named it
	command.Env = environment(path, os.TempDir())
	command.WaitDelay = time.Second
	said, err := command.Output()
	if err != nil {
		return Program{}, fmt.Errorf("%s does not tell its version: %w", path, err)
	}
	parts := versionForm.FindStringSubmatch(string(said))
	if parts == nil {
		return Program{}, fmt.Errorf("%s is no git", path)
	}
	major, _ := strconv.Atoi(parts[2]) // they are digits
	minor, _ := strconv.Atoi(parts[3])
	if major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		return Program{}, fmt.Errorf("%s is git %s, and %s or later is needed", path, parts[1], Oldest)
	}
	program := Program{path, parts[1], 1}
	if major > multiIndexMajor || major == multiIndexMajor && minor >= multiIndexMinor {
		program.multiIndex = 2
	}
	return program, nil
}

// Options of an [Engine]. Program is required.
type Options struct {
	Program Program
	// AllowUnreachable also sends objects that no served ref reaches.
	AllowUnreachable bool
	// Limits reserves memory before a program starts; nil limits nothing.
	Limits *limits.Limiter
	Logger *slog.Logger
}

// Engine runs git. It may be used by any number of goroutines.
type Engine struct {
	options   Options
	listed    *listed
	temporary temporary
	ended     context.Context
	end       context.CancelFunc

	mu       sync.Mutex
	closed   bool
	sessions sync.WaitGroup
}

// ErrClosed means that the server is about to stop.
var ErrClosed = errors.New("the engine is closed")

// New makes an engine.
func New(options Options) *Engine {
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	e := &Engine{options: options, listed: newListed()}
	e.ended, e.end = context.WithCancel(context.Background())
	return e
}

// Close ends all sessions, and waits for them. A nil engine has nothing to close.
func (e *Engine) Close() {
	if e == nil {
		return
	}
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.end()
	e.sessions.Wait()
	if err := e.temporary.close(); err != nil {
		e.options.Logger.Error("files of requests were not removed", "error", err)
	}
}

// enter counts a session, or returns [ErrClosed].
func (e *Engine) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ErrClosed
	}
	e.sessions.Add(1)
	return nil
}

// Open prepares the request of a client for a repository. Protocol is the client's choice of a version
// (gitprotocol-v2(5), GIT_PROTOCOL); like git it ignores unknown parts. Close the session.
func (e *Engine) Open(ctx context.Context, repository *repos.Repository, protocol string) (*Session, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &Session{
		engine: e, repository: repository, ctx: ctx, cancel: cancel, version: versionOf(protocol),
		unfollow: context.AfterFunc(e.ended, cancel),
	}
	var err error
	if s.folder, err = e.temporary.make(); err != nil {
		s.Close()
		return nil, machineError(err)
	}
	return s, nil
}
