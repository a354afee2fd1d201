package main

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// Kinds of peers: what this program is when it is run as a contestant.
const (
	peerGoGit       = "go-git"
	peerGoGitBlobs  = "go-git-blobs"
	peerOwnBlobs    = "repomcp-blobs"
	peerOwnBlobsOne = "repomcp-blobs-1"
	peerOwnAlike    = "repomcp-blobs-plain"
	peerOwnSizes    = "repomcp-sizes"
)

// tally is what a peer without an archive found, printed so that the work can
// be compared and not be left out.
type tally struct {
	blobs int64
	bytes int64
}

func (t tally) String() string { return fmt.Sprintf("%d blobs, %d bytes", t.blobs, t.bytes) }

func runPeer(ctx context.Context, kind, dir string, stdout io.Writer) error {
	if key, ok := strings.CutPrefix(kind, searchPeer); ok {
		return ownSearchHEAD(ctx, dir, key, stdout)
	}
	var found tally
	var err error
	switch kind {
	case peerGoGit:
		return goGitArchive(dir, stdout)
	case peerGoGitBlobs:
		found, err = goGitReadBlobs(dir)
	case peerOwnBlobs:
		found, err = ownReadBlobs(ctx, dir, 0)
	case peerOwnBlobsOne:
		found, err = ownReadBlobs(ctx, dir, 1)
	case peerOwnAlike:
		found, err = ownReadAlike(ctx, dir)
	case peerOwnSizes:
		found, err = ownReadSizes(ctx, dir)
	default:
		return fmt.Errorf("there is no peer %q", kind)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	_, err = fmt.Fprintln(stdout, found)
	return err
}
