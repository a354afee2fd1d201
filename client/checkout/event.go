package checkout

import (
	"context"
	"errors"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/internal/dotgit"
	"github.com/repomcp/repomcp/client/unpack"
)

// The names of events.
const (
	// EventStart begins the download of Commit (if it is known by then), as a difference from Base,
	// or whole.
	EventStart = "start"
	// EventWrite reports a file or link that now has its name.
	EventWrite = "write"
	// EventDelete reports a removed file or link.
	EventDelete = "delete"
	// EventKeep reports a path that the user changed, with the Reason.
	EventKeep = "keep"
	// EventSkipped reports a symbolic link of the commit that leads out of the folder, and was not
	// made.
	EventSkipped = "skipped"
	// EventBehind says that a clone has got the Commit, and that its branch stays at Base, with the
	// Reason. A run makes no change then of the working tree, the index and the branch.
	EventBehind = "behind"
	// EventProgress reports the Phase of a run, and what it has done so far, several times a
	// second.
	EventProgress = "progress"
	// EventRetry reports an attempt that failed and will be repeated.
	EventRetry = "retry"
	// EventGone says that a Follow is interrupted, with Error and Code. It tries again, and reports
	// nothing until it succeeds.
	EventGone = "gone"
	// EventBack ends an interruption: the folder is in step again.
	EventBack = "back"
	// EventDone ends a run, with its Result.
	EventDone = "done"
	// EventFailed ends a failed run, or a Follow, with Error and Code.
	EventFailed = "failed"
	// EventStopped ends a run or a Follow whose context has ended.
	EventStopped = "stopped"
)

// These are the reasons for an EventKeep.
const (
	ReasonEdited    = "edited"    // it differs from the version of the last run
	ReasonUntracked = "untracked" // no run wrote it
	ReasonStaged    = "staged"    // the index of a clone has another version than its commit
	ReasonInTheWay  = "in the way"
	ReasonDeleted   = "deleted upstream" // and edited here: it is no longer followed
	ReasonInUse     = "in use"           // a program has it open for writing; the next run tries again
	ReasonHeld      = "held"             // Options.Replaces has refused; the next run tries again
)

// These are the reasons for an EventBehind. Files in the way are others: ReasonEdited, or ReasonInUse or ReasonHeld if
// that is true of all.
const (
	ReasonCommits    = "local commits"
	ReasonElsewhere  = "other branch"       // is checked out
	ReasonWorktree   = "other working tree" // of the clone has the branch checked out
	ReasonUnfinished = "unfinished"         // a merge, a rebase or the like
	ReasonLocked     = "locked"             // by a git program, for longer than a second
)

// ReasonOutside is the reason for an EventSkipped.
const ReasonOutside = "leads outside"

// The phases of a run, in an EventProgress.
const (
	PhaseReceive = "receive" // the archive is received and written
	PhaseCheck   = "check"   // files of the folder are compared
	PhaseFinish  = "finish"  // the state is written
)

// Event is something that happened. Unused fields are empty.
type Event struct {
	Event  string `json:"event"`
	Commit string `json:"commit,omitempty"`
	Base   string `json:"base,omitempty"`
	Path   string `json:"path,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Copy is the path of another version of the kept file, which a program saved while that was
	// put back.
	Copy  string `json:"copy,omitempty"`
	Phase string `json:"phase,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
	Size  int64  `json:"size,omitempty"` // of the download, if known
	// Written and Deleted count files and links, in an EventProgress.
	Written int     `json:"written,omitempty"`
	Deleted int     `json:"deleted,omitempty"`
	Error   string  `json:"error,omitempty"`
	Code    Code    `json:"code,omitempty"` // of the Error
	Result  *Result `json:"result,omitempty"`
}

// failure is an event with an error.
func failure(event string, err error) Event {
	return Event{Event: event, Error: err.Error(), Code: CodeOf(err)}
}

// tell reports an event. For one goroutine at a time, or with the run's lock.
func (f *folder) tell(e Event) { f.options.tell(e) }

func (o Options) tell(e Event) {
	if o.Events != nil {
		o.Events(e)
	}
}

// Code is the machine-readable kind of an error.
type Code string

// The codes.
const (
	CodeArguments    Code = "arguments"    // the options are invalid
	CodeOccupied     Code = "occupied"     // ErrOccupied
	CodeLocked       Code = "locked"       // ErrLocked
	CodeState        Code = "state"        // ErrState
	CodeGone         Code = "gone"         // ErrGone
	CodeUnauthorized Code = "unauthorized" // the server wants other credentials
	CodeRefused      Code = "refused"      // the server refuses for another reason
	CodeBusy         Code = "busy"         // the server, or a proxy, is busy
	CodeNetwork      Code = "network"      // the server was not reached, or the connection broke
	CodeOtherOrigin  Code = "other_origin" // client.ErrOrigin, client.ErrInsecure
	CodeTooLarge     Code = "too_large"    // client.ErrTooLarge
	CodeDamaged      Code = "damaged"      // the received bytes are damaged
	CodeUnsafe       Code = "unsafe"       // package unpack refused the archive
	CodeStopped      Code = "stopped"      // the context has ended
	CodeFailed       Code = "failed"       // anything else, such as the disk
)

// codes are those of errors, the most specific first.
var codes = []struct {
	is   error
	code Code
}{
	{errArguments, CodeArguments},
	{ErrOccupied, CodeOccupied},
	{ErrLocked, CodeLocked},
	{ErrState, CodeState},
	{ErrGone, CodeGone},
	{ErrNoCheckouts, CodeRefused},
	{dotgit.ErrUntrusted, CodeUnsafe},
	{client.ErrOrigin, CodeOtherOrigin},
	{client.ErrInsecure, CodeOtherOrigin},
	{client.ErrTooLarge, CodeTooLarge},
	{client.ErrDamaged, CodeDamaged},
	{client.ErrNotVerified, CodeDamaged},
	{client.ErrNotResumed, CodeNetwork},
	{client.ErrNetwork, CodeNetwork},
	{unpack.ErrDamaged, CodeDamaged},
	{unpack.ErrContent, CodeDamaged},
	{unpack.ErrPatch, CodeDamaged},
	{context.Canceled, CodeStopped},
	{context.DeadlineExceeded, CodeStopped},
}

// CodeOf returns the code of an error of this package, or of packages client and unpack.
func CodeOf(err error) Code {
	_, unsafe := errors.AsType[*unpack.RefusedError](err)
	if _, limit := errors.AsType[*unpack.LimitError](err); limit || unsafe {
		return CodeUnsafe
	}
	for _, c := range codes {
		if errors.Is(err, c.is) {
			return c.code
		}
	}
	refused, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok:
		return CodeFailed
	case refused.Busy():
		return CodeBusy
	case refused.Unauthorized():
		return CodeUnauthorized
	default:
		return CodeRefused
	}
}
