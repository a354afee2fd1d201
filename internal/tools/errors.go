package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/tools/arguments"
	"github.com/repomcp/repomcp/internal/tools/glob"
	"github.com/repomcp/repomcp/internal/tools/spelling"
)

// maxCandidates bounds the commits that an error names for an ambiguous abbreviation.
const maxCandidates = 10

const maxSuggested = 3

// failure is an error for the model: what is wrong and what to do.
type failure struct{ text string }

func (f *failure) Error() string { return f.text }

func say(format string, arguments ...any) error { return &failure{fmt.Sprintf(format, arguments...)} }

// failures maps errors of the domain to messages; the first match counts. Errors that need the
// operator's attention are logged.
var failures = []struct {
	is   error
	log  bool
	text string
}{
	{context.Canceled, false, "The call was cancelled."},
	{context.DeadlineExceeded, false, "The call took too long. Ask for less at once."},
	{git.ErrDenied, true,
		"The server is not permitted to read the repository's files. Ask the operator to let the server's user read " +
			"the mirror."},
	{git.ErrPartial, true,
		"The mirror is a partial clone, and what was asked for is not in it. Ask the operator for a mirror that was " +
			"made without --filter."},
	{git.ErrOutside, true,
		"The mirror borrows objects from a folder outside of the server's root, where the server does not read. Ask " +
			"the operator to move that folder below the root, or to copy its objects with git repack -a."},
	{repos.ErrQuarantined, false,
		"The repository cannot be read, and is quarantined: it is tried again when its files change, or within a " +
			"minute. Other repositories are served. If it stays, ask the operator to run git fsck on the mirror."},
	{git.ErrLFS, true,
		"The mirror's file of a git-lfs object is not what the pointer in the commit says. Ask the operator to " +
			"delete the file below lfs/objects and to fetch it again with git lfs fetch --all, or ask without lfs."},
	{git.ErrCorrupt, true,
		"The repository's data is damaged or just being changed. Try again; if it stays, ask the operator to run git " +
			"fsck on the mirror."},
	{git.ErrUnsupported, false,
		"The repository uses a storage format that this server does not read (SHA-256 objects or an " +
			"unknown extension). Ask the operator for a mirror in the default format."},
	{git.ErrBusy, true,
		"The server is out of file descriptors or temporary space for the moment. Try again in a few seconds."},
	{search.ErrChanged, false,
		"A push has changed the files since the first page, and perhaps their order. Search again without cursor."},
	{search.ErrCursor, false,
		"The cursor does not belong to this search, or its commit is gone. Search again without cursor, or with the " +
			"arguments of the search that gave it."},
	{search.ErrDepth, false,
		"Folders of the repository are nested deeper than is searched. Read those that matter with " +
			"get_repository_tree."},
	{history.ErrTooMany, false,
		"More files differ than can be listed. Name those that matter with paths, or compare nearer commits."},
	{glob.ErrTooMany, false,
		fmt.Sprintf("The braces of the pattern stand for more than %d patterns. Ask in several calls.",
			glob.MaxAlternatives)},
	{git.ErrUnborn, false,
		"HEAD of the repository names a branch that does not exist, while others do. Give ref: see list_branches."},
	{git.ErrEmpty, false, "The repository has no commits yet. Find others with search_repositories."},
	{archive.ErrLimit, false,
		"The archive is larger than this server allows. Take less with paths, or ask the operator to " +
			"raise its limits."},
	{git.ErrTooLarge, false,
		"There is too much to look at. Ask for a part: fewer lines, some paths, or nearer commits."},
	{git.ErrInvalid, false,
		"A path among the arguments cannot be one. Copy it from a listing, such as that of find_files."},
	{git.ErrNotFound, false,
		"What was asked for is not there, or no longer. Find repositories with search_repositories, and files with " +
			"find_files."},
}

func (s *service) failed(ctx context.Context, name string, err error) *mcp.CallToolResult {
	text, unexpected := words(err)
	if unexpected {
		s.Logger.ErrorContext(ctx, "a tool failed", "tool", name, "error", err)
	}
	return mcp.NewToolResultError(text)
}

// words returns the message for an error, and whether the operator has to know of it.
func words(err error) (text string, unexpected bool) {
	if known := (*failure)(nil); errors.As(err, &known) {
		return known.text, false
	}
	if wrong := (*arguments.Error)(nil); errors.As(err, &wrong) {
		return wrong.Error(), false
	}
	if mistake := (*search.QueryError)(nil); errors.As(err, &mistake) {
		return "The query cannot be searched for: " + line(mistake.Error()) + ".", false
	}
	if ambiguous := (*git.AmbiguousError)(nil); errors.As(err, &ambiguous) {
		few := *ambiguous
		few.Candidates = few.Candidates[:min(len(few.Candidates), maxCandidates)]
		return fmt.Sprintf("The %s (%d in all). Give more digits.", &few, len(ambiguous.Candidates)), false
	}
	if nothing := (*archive.NoMatchError)(nil); errors.As(err, &nothing) {
		return "The option " + line(nothing.Error()) + ". See what there is with get_repository_tree.", false
	}
	if needed := (*archive.FullNeededError)(nil); errors.As(err, &needed) {
		return "There is no difference to be had: " + line(needed.Error()) +
			". Ask again without base, or with fallback=full.", false
	}
	if text := repos.ExplainRevision(err); text != "" {
		return sentence(text), false
	}
	if errors.Is(err, archive.ErrOption) {
		return "The arguments make no archive: " + line(err.Error()) + ".", false
	}
	for _, f := range failures {
		if errors.Is(err, f.is) {
			return f.text, f.log
		}
	}
	return "Internal error. Try again; the operator finds the cause in the server's log.", true
}

// sentence returns the message of an error that is written for callers.
func sentence(text string) string {
	return strings.ToUpper(text[:1]) + line(text[1:]) + "."
}

// didYouMean returns a sentence with suggestions and a leading space.
func didYouMean(names []string) string { return spelling.DidYouMean(names) }
