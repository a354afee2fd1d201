package main

import (
	"context"
	"os/exec"
)

// Names of the contestants, as the report has them.
const (
	gitTarGz   = "`git archive --format=tar.gz`"
	gitGzip    = "`git archive` \\| `gzip`"
	gitPigz    = "`git archive` \\| `pigz`"
	gitTar     = "`git archive --format=tar`"
	goGit      = "go-git + compress/gzip"
	ownCommand = "repomcp archive, tar.gz"
	ownHTTP    = "repomcp over HTTP, tar.gz"
	ownTar     = "repomcp archive, tar"
	gitZstd    = "`git archive` \\| `zstd -T2`"
	ownZstd    = "repomcp archive, tar.zst"
	gitZip     = "`git archive --format=zip`"
	ownZip     = "repomcp archive, zip"

	goGitBlobs  = "all blobs, go-git"
	ownBlobsOne = "all blobs, repomcp, one goroutine, ids compared"
	ownBlobs    = "all blobs, repomcp, a goroutine per processor, ids compared"
	ownAlike    = "all blobs, repomcp, a goroutine per processor, as go-git: not compared"
	gitSizes    = "all sizes, `git ls-tree -r -l`"
	ownSizes    = "all sizes, repomcp"
)

// programs are the files that are run.
type programs struct {
	repomcp string
	self    string // for the peers
	pigz    string // "" when there is none
	zstd    string // the same
}

// field makes contestants for one repository.
type field struct {
	programs programs
	corpus   corpus
	server   *server
}

// archives are all ways to an archive of HEAD. For the cost curve only those
// are of interest that the curve is drawn for.
func (f field) archives() []contestant {
	list := []contestant{
		f.process(gitTarGz, f.git("tar.gz")),
		f.process(ownCommand, f.own("tar.gz")),
		{name: ownHTTP, run: f.download(1)},
		f.process(gitTar, f.git("tar")),
		f.process(ownTar, f.own("tar")),
	}
	if f.corpus.curve {
		return list
	}
	if !f.corpus.long {
		list = append(list,
			f.process(gitZstd, f.git("tar"), stage{f.programs.zstd, []string{"-T2", "-q", "-c"}}),
			f.process(ownZstd, f.own("tar.zst")),
			f.process(gitZip, f.git("zip")),
			f.process(ownZip, f.own("zip")),
		)
	}
	compressors := []contestant{
		f.process(gitGzip, f.git("tar"), stage{"gzip", []string{"-c", "-n"}}),
		f.process(gitPigz, f.git("tar"), stage{f.programs.pigz, []string{"-c", "-n"}}),
		f.peer(goGit, peerGoGit),
	}
	if f.corpus.long {
		// Minutes each, and nothing wanted is measured against them.
		for i := range compressors {
			compressors[i].rounds = 1
		}
	}
	list = append(list, compressors...)
	for i := range list {
		switch {
		case list[i].name == gitPigz && f.programs.pigz == "":
			list[i].absent = "pigz is not installed"
		case list[i].name == gitZstd && f.programs.zstd == "":
			list[i].absent = "zstd is not installed"
		}
	}
	return list
}

// readers read the objects of HEAD without making an archive.
func (f field) readers() []contestant {
	return []contestant{
		f.peer(goGitBlobs, peerGoGitBlobs),
		f.peer(ownBlobsOne, peerOwnBlobsOne),
		f.peer(ownBlobs, peerOwnBlobs),
		f.peer(ownAlike, peerOwnAlike),
		f.process(gitSizes, stage{"git", []string{"--git-dir", f.corpus.dir(), "ls-tree", "-r", "-l", "HEAD"}}),
		f.peer(ownSizes, peerOwnSizes),
	}
}

// crowd is n archives at once.
func (f field) crowd(n int) []contestant {
	return []contestant{
		{name: gitTarGz, run: func(ctx context.Context) (usage, error) { return runProcesses(ctx, n, f.git("tar.gz")) }},
		{name: ownHTTP, run: f.download(n)},
	}
}

func (f field) process(name string, stages ...stage) contestant {
	return contestant{name: name, run: func(ctx context.Context) (usage, error) { return runProcesses(ctx, 1, stages...) }}
}

func (f field) peer(name, kind string) contestant {
	return f.process(name, stage{f.programs.self, []string{"-peer", kind, f.corpus.dir()}})
}

func (f field) git(format string) stage {
	return stage{"git", []string{"--git-dir", f.corpus.dir(), "archive", "--format=" + format, "HEAD"}}
}

func (f field) own(format string) stage {
	return stage{f.programs.repomcp, []string{"archive", "--root", f.corpus.root, "--format", format, repositoryName, "HEAD"}}
}

func (f field) download(n int) func(context.Context) (usage, error) {
	return func(ctx context.Context) (usage, error) {
		return f.server.run(ctx, n, "repo://"+repositoryName+"/archive/HEAD.tar.gz")
	}
}

// find gives "" when a program is not installed.
func find(program string) string {
	path, err := exec.LookPath(program)
	if err != nil {
		return ""
	}
	return path
}
