package uploadpack

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/repomcp/repomcp/internal/repos"
)

// WantError says that something is wanted that no served ref leads to. Whether the mirror has it is not said.
type WantError struct{ ID repos.ID }

// Error is what git says then: clients know it by these words.
func (e *WantError) Error() string { return fmt.Sprintf("upload-pack: not our ref %s", e.ID) }

// searches are the ways to find out whether served refs lead to objects, the cheap one first. Each lists objects.
var searches = []struct {
	args []string
	// rest says that the search is given the objects, and lists those of them that it found no ref to lead to.
	// What is not in the mirror is in no list: git refuses it. Otherwise the list is of what refs lead to.
	rest bool
}{
	// With bitmaps this is exact and fast. Without them it knows commits alone.
	{[]string{"--use-bitmap-index", "--stdin", "--not", "--all"}, true},
	// All objects, those of the newest commits first: what a client lacks of a checkout comes soon.
	{[]string{"--in-commit-order", "--all"}, false},
}

// checkWants refuses wanted objects, in order and each once, that no served ref leads to.
func (s *Session) checkWants(wanted []repos.ID) error {
	if len(wanted) == 0 || s.engine.options.AllowUnreachable {
		return nil
	}
	grant, err := s.engine.options.Limits.Call(s.ctx, s.repository.Name(), s.memory)
	if err != nil {
		return err
	}
	defer grant.Release()
	for _, search := range searches {
		missing, err := s.missing(search.args, wanted, search.rest)
		if err != nil {
			return err
		}
		if wanted = missing; len(wanted) == 0 {
			return nil
		}
	}
	return &WantError{wanted[0]}
}

// missing returns which of the wanted objects a search has not found. It ends the search when that is known.
func (s *Session) missing(args []string, wanted []repos.ID, rest bool) ([]repos.ID, error) {
	var input bytes.Buffer
	for _, id := range wanted {
		if rest {
			_, _ = fmt.Fprintln(&input, id)
		}
	}
	args = append([]string{
		"--git-dir=" + s.folder, "rev-list", "--objects", "--no-object-names", "--ignore-missing",
	}, args...)
	reply, err := s.run(&input, args...)
	if err != nil {
		return nil, err
	}
	listed, left := make([]bool, len(wanted)), len(wanted)
	lines := bufio.NewScanner(reply)
	for left > 0 && lines.Scan() {
		id, err := repos.ParseID(lines.Text())
		if err != nil {
			continue
		}
		if at, ok := slices.BinarySearchFunc(wanted, id, compareIDs); ok && !listed[at] {
			listed[at] = true
			left--
		}
	}
	if left == 0 && !rest {
		return nil, reply.Close()
	}
	if err := errors.Join(lines.Err(), drain(reply), reply.Close()); err != nil {
		return nil, err
	}
	var missing []repos.ID
	for at, id := range wanted {
		if listed[at] == rest {
			missing = append(missing, id)
		}
	}
	return missing, nil
}

func drain(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

func compareIDs(a, b repos.ID) int { return bytes.Compare(a[:], b[:]) }
