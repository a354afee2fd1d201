package uploadpack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// programMemory is git's minimum: its code and heap, and the bounds in its configuration.
	programMemory = 64 << 20
	// objectMemory is pack-objects' need for each object, and indexBytes the least size of an object in an index.
	objectMemory, indexBytes = 300, 28
	// listMemory is git's need for a list of refs.
	listMemory = 8 << 20
)

// Session is one request of a client. It is for one goroutine.
type Session struct {
	engine     *Engine
	repository *repos.Repository
	ctx        context.Context
	cancel     context.CancelFunc
	unfollow   func() bool
	version    string // of the protocol, as in GIT_PROTOCOL; "" is 0

	folder  string
	refs    map[git.ID]struct{} // the ids that served refs hold
	memory  int64               // needed to make a pack
	grants  []*limits.Grant
	room    func() // gives back the memory of the program that makes a pack; nil before
	request *os.File
}

// versions finds the versions that a client accepts; the highest counts (gitprotocol-v2(5)).
var versions = regexp.MustCompile(`(?:^|:)version=([12])(?:$|:)`)

func versionOf(protocol string) string {
	highest := ""
	for _, found := range versions.FindAllStringSubmatch(strings.ReplaceAll(protocol, ":", "::"), -1) {
		highest = max(highest, "version="+found[1])
	}
	return highest
}

// prepare writes the repository in which git runs, with the refs that have one of the prefixes, by default all. Nothing
// is reserved yet, so the number of requests that do so at a time is limited.
func (s *Session) prepare(a asked, prefixes ...string) (err error) {
	turn, err := s.engine.options.Limits.Open(s.ctx)
	if err != nil {
		return err
	}
	defer turn.Release()
	snapshot, err := s.repository.Snapshot()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	transfer, err := snapshot.Transfer(prefixes...)
	if err != nil {
		return err
	}
	s.memory = programMemory + transfer.IndexBytes/indexBytes*objectMemory
	s.refs = make(map[git.ID]struct{}, len(transfer.Refs))
	for _, ref := range transfer.Refs {
		s.refs[ref.ID] = struct{}{}
	}
	if head, err := git.ParseID(transfer.Head); err == nil { // it is detached
		s.refs[head] = struct{}{}
	}
	if err := s.hide(snapshot, a); err != nil {
		return err
	}
	return machineError(s.engine.options.Program.writeRepository(s.folder, transfer))
}

// hide masks what the client says it has, and nothing served leads to: git would acknowledge it, and send the
// differences from it, which tell the ids and sizes of hidden objects.
func (s *Session) hide(snapshot *git.Snapshot, a asked) error {
	hidden, err := snapshot.Hidden(s.ctx, a.haves, a.wants)
	if err != nil {
		return err
	}
	for id := range s.refs {
		delete(hidden, id)
	}
	if len(hidden) == 0 {
		return nil
	}
	return s.maskHaves(hidden)
}

// MachineError is a failure of the server's own files and programs. A lack of space or descriptors is a [git.ErrBusy].
type MachineError struct{ error }

// Unwrap returns the cause.
func (e *MachineError) Unwrap() error { return e.error }

func machineError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		err = fmt.Errorf("%w: %w", git.ErrBusy, err)
	}
	return &MachineError{fmt.Errorf("a request of git: %w", err)}
}

// Close ends the programs and removes the files of the session. It may be called more than once.
func (s *Session) Close() {
	if s.unfollow == nil {
		return
	}
	s.unfollow()
	s.unfollow = nil
	s.cancel()
	if s.request != nil {
		_ = s.request.Close() // git has read it
	}
	if s.folder != "" {
		if err := os.RemoveAll(s.folder); err != nil {
			s.engine.options.Logger.Error("files of a request were not removed", "error", err)
		}
	}
	for _, grant := range s.grants {
		grant.Release()
	}
	if s.room != nil {
		s.room()
	}
	s.engine.sessions.Done()
}

// IsV2 reports whether the client accepts version 2 of the protocol.
func (s *Session) IsV2() bool { return s.version == "version=2" }

// Advertise returns git's list of refs or, in version 2, its capabilities.
func (s *Session) Advertise() (*Reply, error) {
	if err := s.reserve(s.engine.options.Limits.Call, listMemory); err != nil {
		return nil, err
	}
	var err error
	if s.IsV2() { // the capabilities are the same for all repositories
		unborn := &git.Transfer{Head: "ref: refs/heads/main"}
		err = machineError(s.engine.options.Program.writeRepository(s.folder, unborn))
	} else {
		err = s.prepare(asked{})
	}
	if err != nil {
		return nil, err
	}
	s.engine.listed.add(s.repository.Name(), s.refs, time.Now())
	return s.run(nil, "upload-pack", "--stateless-rpc", "--http-backend-info-refs", s.folder)
}

// Serve answers a request after reading it to its end. Its error is a [*RequestError] for a malformed request, and a
// [*WantError] for wanted objects that no served ref reaches.
func (s *Session) Serve(request io.Reader) (*Reply, error) {
	asked, err := s.read(request)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(asked, s.refsFor(asked)...); err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(asked.others, func(id git.ID) bool {
		_, held := s.refs[id]
		return held
	})
	if err := s.checkWants(others); err != nil {
		return nil, err
	}
	if asked.lists {
		s.engine.listed.add(s.repository.Name(), s.refs, time.Now())
		err = s.reserve(s.engine.options.Limits.Call, listMemory)
	} else if err = s.reserve(s.engine.options.Limits.Stream, s.memory); err == nil {
		s.room = s.engine.options.Limits.Program(s.memory)
	}
	if err != nil {
		return nil, err
	}
	if _, err := s.request.Seek(0, io.SeekStart); err != nil {
		return nil, machineError(err)
	}
	return s.run(s.request, "upload-pack", "--stateless-rpc", s.folder)
}

// reserve takes a program's memory until the session is closed.
func (s *Session) reserve(
	gate func(ctx context.Context, repository string, memory int64) (*limits.Grant, error), memory int64,
) error {
	grant, err := gate(s.ctx, s.repository.Name(), memory)
	if err != nil {
		return err
	}
	s.grants = append(s.grants, grant)
	return nil
}
