package uploadpack

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/repomcp/repomcp/internal/git"
)

// WantError means that no served ref reaches a wanted object. It does not tell whether the mirror has the object.
type WantError struct{ ID git.ID }

// Error has git's own words, by which clients recognise the error.
func (e *WantError) Error() string { return fmt.Sprintf("upload-pack: not our ref %s", e.ID) }

// search is a way to decide whether served refs, or ids in the lists that clients got lately, reach objects. It lists
// objects.
type search struct {
	args []string
	// rest is true if the search gets the wanted objects and lists those that no ref reaches. Objects that the mirror
	// lacks are in no list: git refuses them later. Otherwise the list has the reachable objects.
	rest bool
	// listed is true if the search begins at listed ids, of which parts may be gone, and not at refs.
	listed bool
}

// searches are in the order of their cost.
var searches = []search{
	// With bitmaps this is exact and fast. Without them it only recognises commits.
	{args: []string{"--use-bitmap-index", "--stdin", "--not", "--all"}, rest: true},
	// All objects, those of the newest commits first, which partial clones usually want.
	{args: []string{"--in-commit-order", "--all"}},
	{args: []string{"--in-commit-order", "--missing=allow-any", "--stdin"}, listed: true},
}

// checkWants refuses wanted objects, in order and each once, that nothing served reaches. A partial clone asks for the
// files of a branch after it got that, so it may have been force-pushed in between.
func (s *Session) checkWants(wanted []git.ID) error {
	if len(wanted) == 0 || s.engine.options.AllowUnreachable {
		return nil
	}
	grant, err := s.engine.options.Limits.Call(s.ctx, s.repository.Name(), s.memory)
	if err != nil {
		return err
	}
	defer grant.Release()
	defer s.engine.options.Limits.Program(s.memory)()
	for _, search := range searches {
		missing, err := s.missing(search, wanted)
		if err != nil {
			return err
		}
		if wanted = missing; len(wanted) == 0 {
			return nil
		}
	}
	return &WantError{wanted[0]}
}

// missing returns the wanted objects that a search has not found. It ends the search as soon as it found all.
func (s *Session) missing(search search, wanted []git.ID) ([]git.ID, error) {
	from := wanted
	switch {
	case search.listed:
		if from = s.engine.listed.ids(s.repository.Name(), time.Now()); len(from) == 0 {
			return wanted, nil
		}
	case !search.rest:
		from = nil
	}
	var input bytes.Buffer
	for _, id := range from {
		_, _ = fmt.Fprintln(&input, id)
	}
	args := append([]string{
		"--git-dir=" + s.folder, "rev-list", "--objects", "--no-object-names", "--ignore-missing",
	}, search.args...)
	reply, err := s.run(&input, args...)
	if search.listed && isFailure(err) { // what no ref leads to may lack anything
		return wanted, nil
	}
	if err != nil {
		return nil, err
	}
	found, left := make([]bool, len(wanted)), len(wanted)
	lines := bufio.NewScanner(reply)
	for left > 0 && lines.Scan() {
		id, err := git.ParseID(lines.Text())
		if err != nil {
			continue
		}
		if at, ok := slices.BinarySearchFunc(wanted, id, compareIDs); ok && !found[at] {
			found[at] = true
			left--
		}
	}
	if left == 0 && !search.rest {
		return nil, reply.Close()
	}
	err = errors.Join(lines.Err(), drain(reply), reply.Close())
	if err != nil && (!search.listed || !isFailure(err)) {
		return nil, err
	}
	var missing []git.ID
	for at, id := range wanted {
		if found[at] == search.rest {
			missing = append(missing, id)
		}
	}
	return missing, nil
}

func isFailure(err error) bool {
	var failure *FailureError
	return errors.As(err, &failure)
}

func drain(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

func compareIDs(a, b git.ID) int { return bytes.Compare(a[:], b[:]) }
