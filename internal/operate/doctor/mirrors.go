package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// manyPacks is git's own threshold (gc.autoPackLimit): each lookup searches all packs, and each
	// pack takes a descriptor or two.
	manyPacks = 50
	// manyObjects is about the size at which questions about history take seconds without a
	// commit-graph.
	manyObjects = 200_000
	// lookedFiles bounds the files of one mirror that are opened only to test their permissions.
	lookedFiles = 5000
	// oldMirror is the age at which fetches seem to have stopped.
	oldMirror = 7 * 24 * time.Hour
	// longFetch is the duration after which an unfinished fetch counts as failed.
	longFetch = time.Hour
)

// mirrors summarizes all repositories.
type mirrors struct {
	names   []string // sorted
	count   int
	packs   int
	skills  int
	states  map[git.FetchState]int
	oldest  string
	fetched time.Time // oldest
}

// notices collects what the catalogue logs during its first scan of the root.
type notices struct {
	mu     sync.Mutex
	closed bool
	told   []slog.Record
}

func (n *notices) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (n *notices) WithAttrs([]slog.Attr) slog.Handler               { return n }
func (n *notices) WithGroup(string) slog.Handler                    { return n }

func (n *notices) Handle(_ context.Context, record slog.Record) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed {
		n.told = append(n.told, record.Clone())
	}
	return nil
}

// close ends the collection and returns the records. The checks find later problems as well.
func (n *notices) close() []slog.Record {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	return n.told
}

func (e *examination) checkRoot(ctx context.Context) {
	if e.Root == "" {
		e.fault("", "there is no root", "name the folder of the mirrors with --root DIR or REPOMCP_ROOT")
		return
	}
	logged := new(notices)
	catalogue, err := repos.Open(e.Root, repos.Options{HideRefs: e.HideRefs, Logger: slog.New(logged)})
	if err != nil {
		e.fault("--root "+e.Root, withoutPath(err).Error(), "name a folder that the server's user may read")
		return
	}
	defer func() { _ = catalogue.Close() }() // only read
	for _, record := range logged.close() {
		e.addNotice(record)
	}
	names := catalogue.Names()
	e.mirrors = mirrors{names: names, count: len(names), states: make(map[git.FetchState]int)}
	if len(names) > 0 {
		e.ok(fmt.Sprintf("%s below %s", counted(len(names), "repository", "repositories"), e.Root))
	}
	e.check = "mirrors"
	e.examineAll(ctx, catalogue, names)
}

// addNotice turns a record of the catalogue into a finding. The advice follows a semicolon in the
// message.
func (e *examination) addNotice(record slog.Record) {
	subject := ""
	text, advice, _ := strings.Cut(record.Message, "; ")
	record.Attrs(func(a slog.Attr) bool {
		switch value := a.Value.String(); a.Key {
		case "folder":
			subject = value
		case "reason":
			value, advice, _ = strings.Cut(value, "; ")
			text += ": " + value
		case "error":
			text += ": " + value
		default:
			text += fmt.Sprintf(" (%s: %s)", a.Key, value)
		}
		return true
	})
	e.warn(subject, text, advice)
}

// mirror is a repository with its findings.
type mirror struct {
	name     string
	check    string // the current one
	packs    int
	skills   int
	fetch    git.Fetch
	findings []Finding
}

// examineAll examines mirrors in parallel, one per processor.
func (e *examination) examineAll(ctx context.Context, catalogue *repos.Catalogue, names []string) {
	all := make([]*mirror, len(names))
	for i, name := range names {
		all[i] = &mirror{name: name, check: e.check}
	}
	var next atomic.Int64
	var running sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(names) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				e.examineOne(ctx, catalogue, all[i])
			}
		})
	}
	running.Wait()
	slices.SortStableFunc(all, func(a, b *mirror) int { return cmp.Compare(b.badness(), a.badness()) })
	for _, one := range all {
		e.findings = append(e.findings, one.findings...)
		e.mirrors.add(one)
	}
}

// badness orders mirrors by their faults.
func (m *mirror) badness() (sum int) {
	for _, f := range m.findings {
		if f.Level == Fault {
			sum++
		}
	}
	return sum
}

func (m *mirrors) add(x *mirror) {
	m.packs += x.packs
	m.skills += x.skills
	m.states[x.fetch.State]++
	if x.fetch.State == git.FetchDone && (m.oldest == "" || x.fetch.At.Before(m.fetched)) {
		m.oldest, m.fetched = x.name, x.fetch.At
	}
}

func (m *mirror) add(level Level, text, advice string) {
	m.findings = append(m.findings, Finding{level, m.check, m.name, text, advice})
}

// Advice for mirrors with wrong permissions, and for damaged mirrors.
const (
	letRead = "let the server's user read all of its files"
	runFsck = "run git fsck on the mirror"
)

// refusals are the reasons why a mirror is unusable; the first match counts.
var refusals = []struct {
	is     error
	advice string
}{
	{git.ErrDenied, letRead},
	{git.ErrUnsupported, "git config --list tells what is wrong with the config; SHA-256 is not read"},
	{git.ErrCorrupt, runFsck},
	{git.ErrBusy, "raise the limit of descriptors"},
	{git.ErrNotFound, "it has gone meanwhile"},
}

func (m *mirror) refused(err error) {
	for _, r := range refusals {
		if errors.Is(err, r.is) {
			m.add(Fault, cause(err, r.is), r.advice)
			return
		}
	}
	m.add(Fault, err.Error(), runFsck)
}

// cause returns an error's message without its sentinel's, which adds nothing.
func cause(err, sentinel error) string {
	text := strings.ReplaceAll(err.Error(), sentinel.Error()+": ", "")
	return strings.TrimPrefix(text, "repository: ")
}

func (e *examination) examineOne(ctx context.Context, catalogue *repos.Catalogue, m *mirror) {
	if err := panics.Catch(func() error { return e.examineMirror(ctx, catalogue, m) }); err != nil {
		m.refused(err)
	}
}

// examineMirror collects the problems of a mirror. The error is the reason why the mirror is unusable.
func (e *examination) examineMirror(ctx context.Context, catalogue *repos.Catalogue, m *mirror) error {
	repository, err := catalogue.Known(m.name)
	if err != nil {
		return err
	}
	e.checkFetchAge(m, repository)
	if count, first := repository.Denied(lookedFiles); count > 0 {
		m.add(Fault, fmt.Sprintf("%s may not be read, such as %s", counted(count, "file", "files"), first),
			letRead)
	}
	snapshot, err := repository.Snapshot()
	if err != nil {
		return err
	}
	defer func() { _ = snapshot.Close() }() // only read
	condition, err := snapshot.Condition(ctx)
	if err != nil {
		return err
	}
	m.packs = condition.Packs
	m.lookAtObjects(condition)
	m.lookAtRefs(condition)
	if e.Deep {
		m.addDamage(snapshot.Verify(ctx))
	}
	e.lookAtSkills(ctx, m, repository)
	return nil
}

// lookAtSkills reports the folders that are refused as skills. A mirror whose skills cannot be read has
// other findings.
func (e *examination) lookAtSkills(ctx context.Context, m *mirror, repository *repos.Repository) {
	if e.Skills == nil {
		return
	}
	listing, err := e.Skills.List(ctx, repository)
	if err != nil {
		return
	}
	m.skills = len(listing.Skills)
	for _, refusal := range listing.Refused {
		m.findings = append(m.findings, Finding{Warning, skillsCheck, m.name,
			fmt.Sprintf("the folder %s is served as no skill: %s", cmp.Or(refusal.Path, "."), refusal.Reason),
			"change it in the repository, or leave it out of --skills"})
	}
}

// skillsCheck is the name of the check of skills.
const skillsCheck = "skills"

func (e *examination) checkSkills(context.Context) {
	if e.quiet() && e.mirrors.skills > 0 {
		e.ok(counted(e.mirrors.skills, "skill is", "skills are") + " listed")
	}
}

// checkFetchAge checks the mirror's last fetch.
func (e *examination) checkFetchAge(m *mirror, repository *repos.Repository) {
	fetch, err := repository.LastFetch()
	if err != nil {
		m.add(Warning, fmt.Sprintf("when it was fetched is not known: %v", err), letRead)
		return
	}
	m.fetch = fetch
	age := e.now().Sub(fetch.At)
	switch {
	case fetch.State == git.FetchUnfinished && age > longFetch:
		m.add(Warning, "the last fetch failed "+days(age)+" ago", "run git remote update in it to see why")
	case fetch.State == git.FetchUnfinished:
		m.add(Warning, fmt.Sprintf("the last fetch began %.0f minutes ago and has not ended, or it failed",
			age.Minutes()), "run git remote update in it to see why")
	case fetch.State == git.FetchDone && age > oldMirror:
		m.add(Warning, "it was last fetched "+days(age)+" ago", "see that something fetches it regularly")
	case fetch.State == git.FetchDone && age < -mostSkew:
		m.add(Warning, "it was fetched "+days(-age)+" in the future", "set the clock of this machine, or that of "+
			"which fetches")
	}
}

func days(d time.Duration) string {
	if d < 2*24*time.Hour {
		return counted(int(d.Hours()), "hour", "hours")
	}
	return counted(int(d.Hours()/24), "day", "days")
}

func (m *mirror) lookAtObjects(c git.Condition) {
	if n := len(c.Faults); n > 0 {
		m.add(Fault, fmt.Sprintf("%s cannot be read, nor %d of %s: %v", counted(n, "pack", "packs"), c.Damaged,
			counted(c.Refs, "ref", "refs"), cause(c.Faults[0], git.ErrCorrupt)), runFsck+", or clone it anew")
	}
	if n := len(c.Unindexed); n > 0 {
		text := counted(n, "pack has", "packs have") + " no index, such as " + c.Unindexed[0]
		if c.Damaged == 0 {
			m.add(Warning, text, "run git index-pack on it, or delete it")
		} else {
			m.add(Fault, fmt.Sprintf("%s, and %d of %s cannot be read", text, c.Damaged,
				counted(c.Refs, "ref", "refs")), "run git index-pack on it")
		}
	}
	if c.Outside {
		m.add(Warning, "it borrows objects from outside of the root (objects/info/alternates), where nothing is read",
			"copy them with git repack -a -d and delete the file")
	}
	if c.Lost > 0 {
		m.add(Fault, counted(c.Lost, "alternate is", "alternates are")+" not there (objects/info/alternates)",
			"restore what it borrows from, or clone it anew")
	}
	if c.Partial {
		m.add(Warning, "it is a partial clone: what it has not is answered with 501", "clone it without --filter")
	}
	if c.Shallow {
		m.add(Warning, "it is a shallow clone: older history is missing", "git fetch --unshallow")
	}
	if c.Packs > manyPacks {
		m.add(Warning, fmt.Sprintf("it has %d packs", c.Packs), "git repack -a -d")
	}
	if c.Objects > manyObjects && !c.Graph && !c.Shallow {
		m.add(Warning, fmt.Sprintf("it has %d objects and no commit-graph that is used", c.Objects),
			"git commit-graph write --reachable --changed-paths")
	}
}

func (m *mirror) lookAtRefs(c git.Condition) {
	if len(c.Faults) > 0 || c.Damaged > 0 && len(c.Unindexed) > 0 {
		return // unreadable files are the cause of everything else
	}
	if c.Damaged > 0 {
		m.add(Fault, fmt.Sprintf("%d of %s cannot be read, such as %s: %s", c.Damaged, counted(c.Refs, "ref", "refs"),
			c.FirstDamaged.Name, cause(c.FirstDamaged.Damage, git.ErrCorrupt)), runFsck)
		return // HEAD may be one of the refs
	}
	switch {
	case c.Head == nil:
	case errors.Is(c.Head, git.ErrUnborn):
		m.add(Warning, "HEAD names a branch that does not exist", "git remote set-head origin --auto, or git "+
			"symbolic-ref HEAD refs/heads/NAME")
	case errors.Is(c.Head, git.ErrEmpty):
		m.add(Warning, "it has no refs yet", "fetch into it")
	default:
		m.add(Fault, "HEAD cannot be read: "+cause(c.Head, git.ErrCorrupt), "git symbolic-ref HEAD refs/heads/NAME")
	}
}

// addDamage reports the joined errors of a verification.
func (m *mirror) addDamage(err error) {
	if err == nil {
		return
	}
	lines := slices.Compact(strings.Split(err.Error(), "\n"))
	m.add(Fault, fmt.Sprintf("%s of what was read, such as %s", counted(len(lines), "error", "errors"), lines[0]),
		runFsck+", or clone it anew")
}

func (e *examination) checkMirrors(context.Context) {
	if e.quiet() && e.mirrors.count > 0 {
		depth := "indexes and refs are sound"
		if e.Deep {
			depth = "all objects are what their ids say"
		}
		e.ok(depth + "; " + counted(e.mirrors.packs, "pack", "packs"))
	}
}

func (e *examination) checkAge(context.Context) {
	if e.mirrors.count == 0 {
		return
	}
	var counts []string
	for _, state := range slices.Sorted(maps.Keys(e.mirrors.states)) {
		if state != "" {
			counts = append(counts, fmt.Sprint(state, " ", e.mirrors.states[state]))
		}
	}
	text := "last fetches: " + strings.Join(counts, ", ")
	if e.mirrors.oldest != "" {
		text += "; the oldest is " + e.mirrors.oldest + ", " + days(e.now().Sub(e.mirrors.fetched)) + " ago"
	}
	e.ok(text)
}
