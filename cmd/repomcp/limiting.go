package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/pflag"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/git"
)

// limitFlags define the resources of requests.
type limitFlags struct {
	memory        int64
	streams       int
	calls         int
	perRepository int
	share         int
	patience      time.Duration
}

func (f *limitFlags) define(set *pflag.FlagSet) {
	set.Var(cli.NewSize(&f.memory, 0), "memory-budget",
		"memory that the process stays within; 0: GOMEMLIMIT, else nine tenths of the container's, else half of the "+
			"machine's")
	set.IntVar(&f.streams, "max-streams", 0,
		"concurrent archives and files; 0: as memory allows, at most 2048")
	set.IntVar(&f.calls, "max-calls", 0,
		"searches, blames and other costly calls that run at a time; 0: 4 for each processor")
	set.IntVar(&f.perRepository, "max-per-repository", 0,
		"concurrent streams, and calls, per repository; 0: three quarters of all")
	set.IntVar(&f.share, "client-share", limits.DefaultShare,
		"share of memory, streams, calls, connections and queue per client, in percent")
	set.DurationVar(&f.patience, "queue-time", limits.DefaultPatience,
		"how long a request waits for its turn before it is refused")
}

// unlimited is the value of GOMEMLIMIT=off.
const unlimited = math.MaxInt64

// budget returns the memory for the process.
func (f *limitFlags) budget(env cli.Environment) int64 {
	if f.memory > 0 {
		return f.memory
	}
	if _, chosen := env.Lookup("GOMEMLIMIT"); chosen {
		if limit := debug.SetMemoryLimit(-1); limit != unlimited {
			return limit
		}
	}
	return limits.ProcessMemory()
}

// fitCaches shrinks caches of default size if there is little memory.
func (f *mirrorFlags) fitCaches(memory int64) {
	caches := limits.Caches(memory)
	f.packIndexes = min(git.DefaultPackIndexBytes, caches/4)
	caches -= f.packIndexes
	if !f.index.chosen() {
		f.index.memory = min(f.index.memory, caches*3/8)
		caches -= f.index.memory
	}
	if !f.cachesChosen() && f.historyCache+f.searchCache > caches {
		f.searchCache = caches / 5
		f.historyCache = caches - f.searchCache
	}
}

// caches is the size of all caches together.
func (f *mirrorFlags) caches() int64 {
	return f.packIndexes + f.historyCache + f.searchCache + f.index.memory
}

// limit divides the memory.
func (f *mirrorFlags) limit(env cli.Environment) *limits.Limiter {
	memory := f.limiting.budget(env)
	if f.limiting.memory > 0 {
		debug.SetMemoryLimit(memory)
	} else {
		env.LimitMemory(memory)
	}
	f.fitCaches(memory)
	f.workers = limits.Workers(memory, runtime.GOMAXPROCS(0))
	l := f.limiting
	return limits.New(limits.Options{
		Memory:  limits.Requests(memory, f.caches(), f.workers),
		Process: debug.SetMemoryLimit(-1), SetProcess: limits.BoundProcess,
		Streams: l.streams, Calls: l.calls, PerRepository: l.perRepository, Share: min(l.share, 100),
		Patience: l.patience,
	})
}
