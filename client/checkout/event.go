package checkout

// The names of events.
const (
	// EventStart begins the download of Commit (if that is known by then), as what
	// differs from Base, or whole.
	EventStart = "start"
	// EventWrite is a file or link that is written.
	EventWrite = "write"
	// EventDelete is one that is removed.
	EventDelete = "delete"
	// EventKeep is a path that somebody changed, with the Reason.
	EventKeep = "keep"
	// EventProgress says how many bytes were downloaded, several times a second.
	EventProgress = "progress"
	// EventRetry is an attempt that failed and will be made again.
	EventRetry = "retry"
	// EventDone ends a run, with its Result.
	EventDone = "done"
	// EventFailed ends one that failed, or all of a Follow.
	EventFailed = "failed"
)

// The reasons for an EventKeep.
const (
	ReasonEdited    = "edited"    // it is not what the last run wrote
	ReasonUntracked = "untracked" // no run wrote it
	ReasonInTheWay  = "in the way"
	ReasonDeleted   = "deleted upstream" // and edited here: it is no longer followed
)

// Event is something that happened. Fields that mean nothing for it are empty.
type Event struct {
	Event  string  `json:"event"`
	Commit string  `json:"commit,omitempty"`
	Base   string  `json:"base,omitempty"`
	Path   string  `json:"path,omitempty"`
	Reason string  `json:"reason,omitempty"`
	Bytes  int64   `json:"bytes,omitempty"`
	Size   int64   `json:"size,omitempty"` // of the download, where it is known
	Error  string  `json:"error,omitempty"`
	Result *Result `json:"result,omitempty"`
}

// tell is for one goroutine, or for who holds the run's lock.
func (f *folder) tell(e Event) {
	if f.options.Events != nil {
		f.options.Events(e)
	}
}
