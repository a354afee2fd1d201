package checkout

// The names of events.
const (
	// EventStart begins the download of Commit (if that is known by then), as what
	// differs from Base, or whole.
	EventStart = "start"
	// EventWrite is a file or link that has its name now.
	EventWrite = "write"
	// EventDelete is one that was removed.
	EventDelete = "delete"
	// EventKeep is a path that somebody changed, with the Reason.
	EventKeep = "keep"
	// EventSkipped is a symbolic link of the commit that leads out of the folder, and
	// was not made.
	EventSkipped = "skipped"
	// EventProgress says what a run is at, by its Phase, and what it has done so far,
	// several times a second.
	EventProgress = "progress"
	// EventRetry is an attempt that failed and will be made again.
	EventRetry = "retry"
	// EventGone says that a Follow cannot go on for now, with Error and Code. It tries
	// again, and tells of nothing until it can.
	EventGone = "gone"
	// EventBack ends what an EventGone began: the folder is in step again.
	EventBack = "back"
	// EventDone ends a run, with its Result.
	EventDone = "done"
	// EventFailed ends one that failed, or all of a Follow, with Error and Code.
	EventFailed = "failed"
	// EventStopped ends what its context has ended.
	EventStopped = "stopped"
)

// The reasons for an EventKeep.
const (
	ReasonEdited    = "edited"    // it is not what the last run wrote
	ReasonUntracked = "untracked" // no run wrote it
	ReasonInTheWay  = "in the way"
	ReasonDeleted   = "deleted upstream" // and edited here: it is no longer followed
	ReasonInUse     = "in use"           // a program has it open for writing: the next run tries again
	ReasonHeld      = "held"             // Options.Replaces has refused: likewise
)

// ReasonOutside is that of an EventSkipped.
const ReasonOutside = "leads outside"

// The phases of a run, in an EventProgress.
const (
	PhaseReceive = "receive" // the archive comes, and is written
	PhaseCheck   = "check"   // files of the folder are compared
	PhaseFinish  = "finish"  // the state is written
)

// Event is something that happened. Fields that mean nothing for it are empty.
type Event struct {
	Event  string `json:"event"`
	Commit string `json:"commit,omitempty"`
	Base   string `json:"base,omitempty"`
	Path   string `json:"path,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Copy is the path of one more version of what is kept, which was saved while that
	// was put back.
	Copy  string `json:"copy,omitempty"`
	Phase string `json:"phase,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
	Size  int64  `json:"size,omitempty"` // of the download, where it is known
	// Written and Deleted count files and links, in an EventProgress.
	Written int     `json:"written,omitempty"`
	Deleted int     `json:"deleted,omitempty"`
	Error   string  `json:"error,omitempty"`
	Code    Code    `json:"code,omitempty"` // of the Error
	Result  *Result `json:"result,omitempty"`
}

// failure is an event about an error.
func failure(event string, err error) Event {
	return Event{Event: event, Error: err.Error(), Code: CodeOf(err)}
}

// tell is for one goroutine, or for what holds the run's lock.
func (f *folder) tell(e Event) { f.options.tell(e) }

func (o Options) tell(e Event) {
	if o.Events != nil {
		o.Events(e)
	}
}
