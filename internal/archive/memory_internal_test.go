package archive

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/repomcp/repomcp/internal/base/spill"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestExaminationsTakeWhatTheyMay remembers more archives than there is room for.
func TestExaminationsTakeWhatTheyMay(t *testing.T) {
	engine, err := NewEngine(EngineOptions{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	gittest.HeapFits(t, maxExaminationBytes, func() any {
		for n := range 3 * maxExaminationBytes / examinationCost {
			found := &examination{dependOnRefs: n%2 == 0}
			if n%3 == 0 {
				found.noteEncoding(fmt.Sprint("encoding-", n))
			}
			engine.examinations.Put(hashed([]any{fmt.Sprint(n)}), found, found.cost())
		}
		return engine
	})
}

// CountRuns counts the runs that the plan's engine makes from now on. No other archive
// may be written at the time.
func (p *Plan) CountRuns() *atomic.Int64 {
	made, newRun := new(atomic.Int64), p.engine.runs.New
	p.engine.runs.New = func() any {
		made.Add(1)
		return newRun()
	}
	return made
}

// SharedRuns is how many runs the archives of the plan's engine share.
func (p *Plan) SharedRuns() int { return cap(p.engine.extra) }

// SpilledBytes is how much the temporary files of all checkouts have.
func (p *Plan) SpilledBytes() int64 { return p.engine.space.Used() }

// LimitSpace bounds the temporary files.
func (e *Engine) LimitSpace(dir string, limit int64) { e.space = spill.NewSpace(dir, limit) }

// Engine is that of the plan.
func (p *Plan) Engine() *Engine { return p.engine }
