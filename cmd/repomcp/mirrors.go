package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/operate/refresh"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/resources/skills"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/search/index"
	"github.com/repomcp/repomcp/internal/tools"
	"github.com/repomcp/repomcp/internal/tools/prompts"
	"github.com/repomcp/repomcp/internal/watch"
)

var errNoRoot = cli.Misused(errors.New("name the folder of the git mirrors with --root DIR or REPOMCP_ROOT"))

// defaultHistoryCache is the sum of its parts' defaults.
const defaultHistoryCache = history.DefaultCacheBytes + git.DefaultGraphBytes + git.DefaultCommitGraphBytes

// minFetchAge prevents a call of the hook for every request.
const minFetchAge = time.Second

// rootFlags select the served repositories and refs.
type rootFlags struct {
	root                string
	allowUnreachable    bool
	hideRefs, serveRefs []string
}

func (f *rootFlags) define(set *pflag.FlagSet, unreachable string) {
	set.StringVar(&f.root, "root", "", "folder of the git mirrors (required)")
	set.BoolVar(&f.allowUnreachable, "allow-unreachable", false, unreachable)
	set.StringSliceVar(&f.hideRefs, "hide-refs", nil,
		"ref, or prefix of refs such as refs/pull, that is not served; with ! in front, one that is served "+
			"(repeatable; as transfer.hideRefs of git, whose settings count first)")
	set.StringSliceVar(&f.serveRefs, "serve-refs", nil,
		"ref, or prefix of refs such as refs/heads; only these are served unless hidden (repeatable; all "+
			"without it)")
}

// openCatalogue opens the folder with the flags, and further options.
func (f rootFlags) openCatalogue(options repos.Options) (*repos.Catalogue, error) {
	options.AllowUnreachable, options.HideRefs, options.ServeRefs = f.allowUnreachable, f.hideRefs, f.serveRefs
	catalogue, err := repos.Open(f.root, options)
	if err != nil {
		return nil, fmt.Errorf("--root %s: %w", f.root, withoutPath(err))
	}
	return catalogue, nil
}

// mirrorFlags define what is served, for every transport.
type mirrorFlags struct {
	rootFlags
	readLimit        int64
	binaryLimit      int64
	limits           archive.Limits
	level            int
	rescan           time.Duration
	verify           bool
	searchCache      int64
	index            indexFlags
	tools            []string
	noLinks          bool
	historyCache     int64
	packIndexes      int64 // by the memory
	noEvents         bool
	maxSubscriptions int
	checkoutOrigin   string
	skills           []string
	fetchHook        string
	fetchAge         time.Duration
	limiting         limitFlags
	workers          int // for archives; 0: one per processor
	cachesChosen     func() bool
	drainTimeout     time.Duration
	logFormat        string
	logLevel         string
}

func (f *mirrorFlags) define(set *pflag.FlagSet) {
	f.rootFlags.define(set, "also serve unreachable commits, by id")
	set.Var(cli.NewSize(&f.readLimit, 4<<20), "read-limit",
		"largest content of resources/read; larger ones need resources/stream")
	set.Var(cli.NewSize(&f.binaryLimit, archive.DefaultBytes), "max-binary-bytes",
		"largest content that follows a reply as bytes (binary transfer)")
	set.Var(cli.NewSize(&f.limits.Bytes, archive.DefaultBytes), "max-archive-bytes", "largest archive, by its tar")
	set.Int64Var(&f.limits.Entries, "max-archive-entries", archive.DefaultEntries,
		"largest number of entries of an archive")
	set.IntVar(&f.limits.Depth, "max-archive-depth", archive.DefaultDepth,
		"deepest nesting of folders in an archive")
	set.IntVar(&f.limits.PathBytes, "max-archive-path", archive.DefaultPathBytes,
		"longest path in an archive, in bytes")
	set.Var(cli.NewSize(&f.limits.BlobBytes, archive.DefaultBlobBytes), "max-archive-file",
		"largest file in an archive")
	set.IntVar(&f.level, "compression-level", 0, "of archives, 1 (fast) to 9 (small); 0 picks a good one")
	set.StringVar(&f.checkoutOrigin, "checkout-origin", "",
		"URL from which checkouts of archives (profile=checkout) fetch, with {repo} for the repository, as "+
			"https://git.example.com/{repo}.git (default: this server's own, if it answers git clients, or else "+
			"the mirror's)")
	set.StringSliceVar(&f.skills, "skills", skills.DefaultPatterns(),
		"folders on default branches whose skills are listed (SEP-2640), as patterns such as skills/**; . is the root "+
			"of a repository, and an empty list lists none (repeatable)")
	set.DurationVar(&f.rescan, "rescan", 10*time.Second,
		"how often the folder is searched for new and deleted repositories")
	set.StringVar(&f.fetchHook, "fetch-hook", "",
		"program, or http(s) address, that fetches an old mirror on demand; answers do not "+
			"wait for it")
	set.DurationVar(&f.fetchAge, "fetch-age", refresh.DefaultAge, "age from which --fetch-hook is called")
	set.BoolVar(&f.noEvents, "no-file-events", false,
		"look for changes of watched repositories twice a second instead of having the kernel tell (inotify)")
	set.IntVar(&f.maxSubscriptions, "max-subscriptions", 10_000,
		"maximal number of subscriptions of all clients")
	set.Var(cli.NewSize(&f.searchCache, search.DefaultCacheBytes), "search-cache",
		"memory for the results of earlier code searches")
	f.index.define(set)
	set.Var(cli.NewSize(&f.historyCache, defaultHistoryCache), "history-cache",
		"memory for data of commits and paths: half of it for commit-graph files and which commits may be "+
			"read, a quarter for logs, blames and comparisons, a quarter for the parents of commits")
	set.StringSliceVar(&f.tools, "tools", nil,
		"tools to offer, with commas between; all without it. A request chooses fewer by the header X-MCP-Tools")
	set.BoolVar(&f.noLinks, "no-resource-links", false,
		"no resource_link in the results of tools, for frameworks that fail on it; texts and data still have the "+
			"addresses")
	set.BoolVar(&f.verify, "verify", false,
		"read all packs and commit-graphs once in the background and log damage")
	f.cachesChosen = func() bool { return set.Changed("search-cache") || set.Changed("history-cache") }
	f.limiting.define(set)
	set.DurationVar(&f.drainTimeout, "drain-timeout", 30*time.Second, "how long downloads may take after SIGTERM")
	set.StringVar(&f.logFormat, "log-format", "text", "text or json")
	set.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
}

// takesNoArgument refuses arguments, because a flag names the root.
func takesNoArgument(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	advice := "a size or time is one word, such as 4MB or 30s, and --root DIR names the folder of the mirrors"
	if strings.ContainsRune(args[0], filepath.Separator) || isFolder(args[0]) {
		advice = "name the folder of the mirrors with --root " + args[0]
	}
	return cli.Misused(fmt.Errorf("%s takes no argument %q: %s", c.Name(), args[0], advice))
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// mirrors answers requests about the repositories of a folder. Resources and messages are set by
// assemble.
type mirrors struct {
	catalogue     *repos.Catalogue
	engine        *archive.Engine
	resources     *resources.Service
	subscriptions *watch.Subscriptions
	skills        *skills.Library
	refresher     *refresh.Refresher // nil: mirrors are not refreshed
	messages      *mcp.Server
	index         *index.Index
	searcher      *search.Searcher
	limits        *limits.Limiter
	logger        *slog.Logger
}

// open opens the folder; close it. visible is that of [repos.Options].
func (f mirrorFlags) open(
	limiter *limits.Limiter, logger *slog.Logger, visible func(ctx context.Context) func(name string) bool,
) (*mirrors, error) {
	catalogue, err := f.openCatalogue(repos.Options{
		Rescan: f.rescan, Visible: visible, Logger: logger,
		Store: git.StoreOptions{
			GraphBytes: f.historyCache / 4, CommitGraphBytes: f.historyCache / 2, PackIndexBytes: f.packIndexes,
		},
	})
	if err != nil {
		return nil, err
	}
	engine, err := archive.NewEngine(archive.EngineOptions{Level: f.level, Workers: f.workers})
	if err != nil {
		return nil, errors.Join(cli.Misused(err), catalogue.Close())
	}
	return &mirrors{catalogue: catalogue, engine: engine, limits: limiter, logger: logger}, nil
}

func (m *mirrors) close() error {
	m.engine.Close()
	var err error
	if m.index != nil {
		err = m.index.Close()
	}
	return errors.Join(err, m.catalogue.Close())
}

// library returns the skills of --skills.
func (f mirrorFlags) library(limiter *limits.Limiter, logger *slog.Logger) (*skills.Library, error) {
	library, err := skills.New(skills.Options{
		Patterns: append([]string{}, f.skills...), FileLimit: f.readLimit, Limits: limiter, Logger: logger,
	})
	if err != nil {
		return nil, cli.Misused(fmt.Errorf("--skills: %w", err))
	}
	return library, nil
}

// checkCheckoutOrigin refuses a template that makes no origins.
func (f mirrorFlags) checkCheckoutOrigin() error {
	if f.checkoutOrigin == "" {
		return nil
	}
	if err := resources.CheckOriginTemplate(f.checkoutOrigin); err != nil {
		return cli.Misused(fmt.Errorf("--checkout-origin %w", err))
	}
	return nil
}

// assemble creates resources and messages. The options are those of the transport.
func (m *mirrors) assemble(
	f mirrorFlags, contents resources.Options, messages mcp.Options, shared cache.Bucket,
) error {
	err := f.checkCheckoutOrigin()
	if err == nil {
		err = m.openIndex(f, shared)
	}
	if err != nil {
		return err
	}
	if m.refresher, err = f.refresher(m.logger); err != nil {
		return err
	}
	contents.Freshen = m.refresher.Ask
	contents.Catalogue, contents.Engine, contents.ArchiveLimits = m.catalogue, m.engine, f.limits
	contents.Limits, contents.Logger = m.limits, m.logger
	contents.CheckoutOrigin = f.checkoutOrigin
	contents.History = history.NewCache(f.historyCache / 4)
	m.resources = resources.New(contents)
	if m.skills, err = f.library(m.limits, m.logger); err != nil {
		return err
	}
	m.subscriptions = watch.New(watch.Options{
		Catalogue: m.catalogue, NoEvents: f.noEvents, Total: f.maxSubscriptions, Skills: m.skills, Logger: m.logger,
	})
	messages.Catalogue, messages.Resources, messages.Subscriptions = m.catalogue, m.resources, m.subscriptions
	messages.Skills = m.skills
	messages.Version, messages.Logger = version(), m.logger
	messages.ReadLimit, messages.BinaryLimit = f.readLimit, f.binaryLimit
	messages.Unknown = tools.Unknown
	m.messages = mcp.New(messages)
	for _, prompt := range prompts.All() {
		m.messages.AddPrompt(prompt.Prompt, prompt.Write)
	}
	offered, err := f.chooseTools(tools.Options{
		Catalogue: m.catalogue, Resources: m.resources, NoLinks: f.noLinks, Limits: m.limits, Logger: m.logger,
		Searcher: m.searcher, History: contents.History,
	})
	if err != nil {
		return err
	}
	for _, tool := range offered {
		m.messages.AddTool(tool.Tool, tool.Handler)
	}
	return nil
}

// chooseTools returns the tools of --tools.
func (f mirrorFlags) chooseTools(options tools.Options) ([]tools.Tool, error) {
	chosen, err := tools.Choose(tools.New(options), f.tools)
	if err != nil {
		return nil, cli.Misused(fmt.Errorf("--tools: %w", err))
	}
	return chosen, nil
}

func (f mirrorFlags) checkFetchAge() error {
	if f.fetchHook == "" || f.fetchAge >= minFetchAge {
		return nil
	}
	return cli.Misused(fmt.Errorf("--fetch-age %s: the least is %s", f.fetchAge, minFetchAge))
}

// refresher returns a refresher for --fetch-hook.
func (f mirrorFlags) refresher(logger *slog.Logger) (*refresh.Refresher, error) {
	if err := f.checkFetchAge(); err != nil || f.fetchHook == "" {
		return nil, err
	}
	r, err := refresh.New(refresh.Options{Hook: f.fetchHook, Age: f.fetchAge, Logger: logger})
	if err != nil {
		return nil, cli.Misused(fmt.Errorf("--fetch-hook: %w", err))
	}
	return r, nil
}

// background returns what runs while the server serves.
func (m *mirrors) background(f mirrorFlags) []func(context.Context) {
	background := []func(context.Context){m.catalogue.Watch, m.subscriptions.Run, m.index.Run}
	if m.refresher != nil {
		background = append(background, m.refresher.Run)
	}
	if f.verify {
		background = append(background, m.catalogue.Verify)
	}
	return background
}

// runUntil runs the functions until ctx ends or stop is called, which waits for them.
func runUntil(ctx context.Context, functions ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, function := range functions {
		running.Go(func() { function(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// withoutPath removes the path from an error whose message contains it already.
func withoutPath(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// outliveReaders keeps the process running until stop is called, even if the reader of its standard
// error is gone: writing to such a pipe would end it by SIGPIPE.
func outliveReaders() (stop func()) {
	broken := make(chan os.Signal, 1) // never received: the failed write suffices
	signal.Notify(broken, syscall.SIGPIPE)
	return func() { signal.Stop(broken) }
}

// newLogger returns a logger whose level can be changed later.
func newLogger(w io.Writer, flags mirrorFlags) (*slog.Logger, *slog.LevelVar, error) {
	level := new(slog.LevelVar)
	if err := setLevel(level, flags.logLevel); err != nil {
		return nil, nil, cli.Misused(err)
	}
	options := &slog.HandlerOptions{Level: level}
	switch flags.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), level, nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), level, nil
	default:
		return nil, nil, cli.Misused(fmt.Errorf("--log-format %q is neither text nor json", flags.logFormat))
	}
}

func setLevel(level *slog.LevelVar, name string) error {
	if level.UnmarshalText([]byte(name)) != nil {
		return fmt.Errorf("--log-level %q is none of debug, info, warn and error", name)
	}
	return nil
}
