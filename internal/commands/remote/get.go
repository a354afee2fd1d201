package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/checkout"
	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/commands/cli"
)

type getFlags struct {
	target
	output  string
	extract bool
	clone   bool
	resume  bool
	links   bool
}

func newGet(env cli.Environment) *cobra.Command {
	f := &getFlags{target: target{env: env}}
	command := &cobra.Command{
		Use:   "get [URL] REPO[@REF][/PATH]",
		Short: "Download a file or an archive of a server, or unpack it",
		Long: `Download a file of a server, or an archive of all files where no path is named. The
file appears here only when it is whole. URL is the MCP endpoint, left out where
REPOMCP_URL has it; the address of a plain download, or a link, stands for both.

` + endpointHelp + `

` + namesHelp + `

The name after -o says which archive it is to be (.tar.gz, .tar.zst, .tar.xz, .tar,
.zip, .manifest.json; default tar.gz). A download that cannot go on where it broke
begins anew, up to two times.

With --extract an archive (tar, tar.gz, tar.zst) is unpacked into a folder while it
arrives. Nothing is written outside of it, and files of the same names are replaced,
as by tar; sync keeps those that were edited. With --resume what came of a download
that failed stays beside the file, as FILE.part, and the next one goes on there.

With --checkout the folder becomes a git clone of the branch, tag or commit, as of git
clone --depth 1, whose origin is the one that the server names. It appears when all of
it has come, and every object was compared with its id.

` + exitCodesHelp,
		Example: `  repomcp get http://127.0.0.1:8080 hello@v1.0.0 -o hello.tar.zst
  repomcp get http://127.0.0.1:8080 hello@main/README.md
  repomcp get http://127.0.0.1:8080/mcp 'repo://hello/archive/main.tar.gz?path=src' -o src.tar.gz
  repomcp get http://127.0.0.1:8080/archive/hello/main.tar.zst --extract -o hello
  repomcp get http://127.0.0.1:8080 hello@main --checkout -o hello`,
		Args: cli.CountArguments(1, 2, "name the server and what to get, such as https://git.example.com hello@main"),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), args) },
	}
	set := command.Flags()
	f.define(set)
	set.StringVarP(&f.output, "output", "o", "",
		"file, or folder that it is put into; - for standard output (default: the last part of the name)")
	set.BoolVar(&f.extract, "extract", false, "unpack the archive into the folder that -o names")
	set.BoolVar(&f.clone, "checkout", false, "make a git clone in the folder of -o, which must be empty or new")
	set.BoolVar(&f.resume, "resume", false, "keep what came when the download fails, and go on there")
	set.BoolVar(&f.links, "allow-external-symlinks", false, "make symbolic links that lead out of the folder")
	return command
}

func (f *getFlags) run(ctx context.Context, args []string) error {
	defer f.close()
	s, err := f.source(args)
	if err != nil {
		return err
	}
	if s.address == "" {
		s.uris = s.name.downloads(f.format())
	}
	switch {
	case f.json && f.output == "-":
		err = cli.Misused(errors.New("--json and -o - would both write to standard output"))
	case f.clone:
		err = f.makeClone(ctx, &s)
	case f.extract && f.resume:
		err = cli.Misused(errors.New("--resume is for files; what --extract has written is not taken up again"))
	case f.extract && (f.output == "" || f.output == "-"):
		err = cli.Misused(errors.New("--extract needs a folder: -o DIR"))
	case f.extract:
		err = f.unpack(ctx, &s)
	default:
		err = f.fetchAgain(ctx, &s)
	}
	if err = forPeople(s.what, err); err != nil {
		f.tell(checkout.Event{Event: checkout.EventFailed, Error: err.Error(), Code: checkout.CodeOf(err)})
	}
	return err
}

// format returns the format of an archive that no URI names. Content to unpack is compressed for
// remote servers, as for sync.
func (f *getFlags) format() string {
	switch {
	case (f.clone || f.extract) && isLocal(f.url):
		return "tar"
	case f.extract || f.clone:
		return "tar.zst"
	default:
		return formatOf(f.output)
	}
}

// file returns the file name for an open download, "-" for standard output.
func (f *getFlags) file(s *source) string {
	address, _, _ := strings.Cut(s.address, "?")
	name := path.Base(address)
	if s.address == "" {
		name = s.name.file(s.uris[0])
	}
	info, err := os.Stat(f.output)
	switch {
	case f.output == "":
		return name
	case err == nil && info.IsDir() || strings.HasSuffix(f.output, "/"):
		return filepath.Join(f.output, name)
	default:
		return f.output
	}
}

// mostRestarts bounds the restarts of a download whose output file does not exist yet, as in a
// sync.
const mostRestarts = 2

// restarting are the errors after which a restart may succeed.
var restarting = []error{client.ErrNotResumed, client.ErrDigest, client.ErrLength}

// fetchAgain restarts a download that cannot be resumed, unless some of its bytes were already
// handed out.
func (f *getFlags) fetchAgain(ctx context.Context, s *source) error {
	for tries := 0; ; tries++ {
		err := f.fetch(ctx, s)
		again := slices.ContainsFunc(restarting, func(one error) bool { return errors.Is(err, one) })
		if !again || tries >= min(f.retries, mostRestarts) || !cli.IsReplaced(f.file(s)) {
			return err
		}
		f.tell(checkout.Event{Event: checkout.EventRetry, Error: err.Error()})
		_ = cli.Say(f.env.Stderr, "repomcp: %s; the download begins anew\n", forPeople(s.what, err)) // likewise
	}
}

func (f *getFlags) fetch(ctx context.Context, s *source) error {
	if f.resume && f.output != "-" {
		return f.continued(ctx, s)
	}
	d, err := f.open(ctx, s, client.Part{})
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // only read
	name := f.file(s)
	err = cli.WriteOutput(name, f.env.Stdout, func(w io.Writer) error { return f.copy(w, d, 0) })
	if err == nil && name != "-" {
		f.done(d, name)
	}
	return err
}

func (f *getFlags) done(d *client.Download, name string) {
	size := d.Size
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	f.tell(checkout.Event{Event: checkout.EventDone, Path: name, Commit: d.Commit, Bytes: size})
}

// shownEvery is the interval of progress events.
const shownEvery = 100 * time.Millisecond

type meter struct {
	io.Reader
	tell  func(bytes int64)
	bytes int64
	told  time.Time
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	m.bytes += int64(n)
	if now := time.Now(); err != nil || now.Sub(m.told) >= shownEvery {
		m.told = now
		m.tell(m.bytes)
	}
	return n, err
}

func (f *getFlags) watched(d *client.Download, from int64) (in io.Reader, end func()) {
	bar := f.bar(d.Size, "")
	f.tell(checkout.Event{Event: checkout.EventStart, Commit: d.Commit, Bytes: from, Size: max(d.Size, 0)})
	in = &meter{Reader: d, bytes: from, tell: func(bytes int64) {
		_ = bar.Set64(bytes) // a terminal that is gone
		f.tell(checkout.Event{Event: checkout.EventProgress, Bytes: bytes, Size: max(d.Size, 0)})
	}}
	return in, func() { _ = bar.Exit() }
}

func (f *getFlags) copy(w io.Writer, d *client.Download, from int64) error {
	in, end := f.watched(d, from)
	defer end()
	_, err := io.Copy(w, in)
	return err
}

func (f *getFlags) unpack(ctx context.Context, s *source) error {
	f.env.LimitMemory(unpackMemory)
	f.env.Collect(cli.ArchiveGarbage)
	d, err := f.open(ctx, s, client.Part{})
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()                     // only read
	if err := os.MkdirAll(f.output, 0o777); err != nil { //nolint:gosec // the umask decides
		return err
	}
	root, err := os.OpenRoot(f.output)
	if err != nil {
		return err
	}
	in, end := f.watched(d, 0)
	report, err := unpack.New(root, unpack.Options{AllowExternalSymlinks: f.links}).Tar(ctx, in)
	end()
	return f.unpacked(d, report, errors.Join(err, root.Close()))
}

// unpacked reports what has come into the folder.
func (f *getFlags) unpacked(d *client.Download, report unpack.Report, err error) error {
	for _, path := range report.Warnings {
		// A terminal that is gone is no failure.
		_ = cli.Say(f.env.Stderr, "repomcp: an editor or a shell may run %s by itself\n", path)
	}
	if report.TextLinks > 0 {
		_ = cli.Say(f.env.Stderr, textLinks, report.TextLinks) // likewise
	}
	if err == nil {
		f.tell(checkout.Event{Event: checkout.EventDone, Path: f.output, Commit: d.Commit, Bytes: report.Bytes})
	}
	return err
}

// continued downloads to a partial file, which survives failures, with a file beside it for the
// ETag.
func (f *getFlags) continued(ctx context.Context, s *source) error {
	if len(s.uris) > 1 { // the right one is not known yet
		d, err := f.open(ctx, s, client.Part{})
		if err != nil {
			return err
		}
		_ = d.Close() // only its URI is wanted
	}
	name := f.file(s)
	part, tag := name+".part", name+".part.etag"
	d, from, err := f.openRest(ctx, s, part, tag)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // only read
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if from == 0 {
		flags |= os.O_TRUNC
	}
	out, err := os.OpenFile(part, flags, 0o644) //nolint:gosec // as readable as what other commands make
	if err != nil {
		return err
	}
	// After the old bytes are gone, and without an ETag too: it tells this command's partial files
	// from a user's.
	err = os.WriteFile(tag, []byte(d.ETag), 0o600)
	if err == nil {
		err = f.copy(out, d, from)
	}
	if err = errors.Join(err, out.Close()); errors.Is(err, client.ErrDamaged) {
		_, _ = os.Remove(part), os.Remove(tag) // the received bytes cannot be resumed
	}
	if err != nil {
		return err
	}
	if err := os.Remove(tag); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(part, name); err != nil {
		return err
	}
	f.done(d, name)
	return nil
}

// openRest opens the missing part of a file, or all of it.
func (f *getFlags) openRest(ctx context.Context, s *source, part, tag string) (*client.Download, int64, error) {
	have, err := os.Open(part)
	if errors.Is(err, fs.ErrNotExist) {
		d, err := f.open(ctx, s, client.Part{})
		return d, 0, err
	}
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = have.Close() }() // only read
	info, err := have.Stat()
	if err != nil {
		return nil, 0, err
	}
	etag, err := os.ReadFile(tag)
	switch {
	case errors.Is(err, fs.ErrNotExist) && info.Size() > 0:
		return nil, 0, fmt.Errorf("%s is not from an earlier --resume: no %s is beside it; move it away, "+
			"or name another file with -o", part, filepath.Base(tag))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, 0, err
	case len(etag) == 0:
		d, err := f.open(ctx, s, client.Part{})
		return d, 0, err
	}
	d, err := f.open(ctx, s, client.Part{ETag: string(etag), Content: have})
	if errors.Is(err, client.ErrNotResumed) {
		_ = cli.Say(f.env.Stderr, "repomcp: the server has other bytes by now; the download begins anew\n") // likewise
		d, err = f.open(ctx, s, client.Part{})
		return d, 0, err
	}
	return d, info.Size(), err
}
