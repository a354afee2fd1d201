package archive

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/archive/pathspec"
)

// maxPrefixBytes bounds the added folder and the stripped folder.
const maxPrefixBytes = 1024

// ErrOption refuses the value of an option. The message is for the user, and names the allowed
// values.
var ErrOption = errors.New("archive option")

// Options define an archive.
type Options struct {
	Format  Format
	Profile Profile
	// Paths are git pathspecs: only matching paths are included. Each must match something. None
	// means everything.
	Paths []string
	// Exclude are git pathspecs of excluded paths.
	Exclude []string
	// Prefix is added before every path, as by git archive --prefix: with a final slash it is a
	// folder.
	Prefix string
	// Strip is a folder: only its contents are included, with paths relative to it.
	Strip string
	// Base is a revision: the archive is then a delta, which contains only the differences from the
	// archive of that revision with the same options. In a plan, Base is the full id of its commit.
	Base string
	// Delta selects the form of modified files in a delta.
	Delta Delta
	// Fallback defines the result if a delta is impossible: with [FallbackFull] the archive without
	// a base; otherwise a [FullNeededError].
	Fallback string
	LFS      LFS
	// Submodules requires Siblings for [SubmodulesContent]. Neither it nor LFSContent can be
	// combined with a Base.
	Submodules Submodules
	// Objects are those of a checkout's pack.
	Objects Objects
	// Depth is the number of commits in a checkout, from its own on, as of git clone --depth; "" is 1.
	Depth string
	// Ref is the branch or tag that a checkout is of, by its full name, and after "HEAD:" if it is the
	// branch to which the repository's HEAD leads. Without one, the checkout's HEAD is detached.
	Ref string
	// Origin is the URL that a checkout's remote has, or [OriginNone]. PushURL is where changes go, if
	// that is another place.
	Origin, PushURL string
	Limits          Limits
	// Siblings opens the repositories of submodules. It has no textual form.
	Siblings Siblings
}

// parameter is an option in a query or on a command line.
type parameter struct {
	name   string
	repeat bool
	usage  string
	// ofCheckout says that only a checkout has it.
	ofCheckout bool
	choices    []string // the allowed values, the default first; none: any string
	get        func(Options) []string
	set        func(*Options, string)
}

// parameters is the table of options, in canonical order.
var parameters = []parameter{
	repeated("path", "include only paths that this git pathspec matches",
		func(o *Options) *[]string { return &o.Paths }),
	repeated("exclude", "exclude paths that this git pathspec matches",
		func(o *Options) *[]string { return &o.Exclude }),
	single("prefix", "put this before every path; end it with / for a folder",
		func(o *Options) *string { return &o.Prefix }),
	single("strip", "include only the contents of this folder, with paths relative to it",
		func(o *Options) *string { return &o.Strip }),
	single("profile",
		"archive: as git archive, with .gitattributes applied; full: the complete tree as it is stored; worktree: the "+
			"complete tree as git checkout writes it; checkout: that with a .git, a clone that git status finds clean",
		func(o *Options) *Profile { return &o.Profile }, ProfileArchive, ProfileFull, ProfileWorktree, ProfileCheckout),
	single("base", "write only the differences from this revision, with a list of deleted paths",
		func(o *Options) *string { return &o.Base }),
	single("delta",
		"patch: with base, write modified files as what turns the old content into the new, where that is smaller; "+
			"files: write them whole",
		func(o *Options) *Delta { return &o.Delta }, DeltaFiles, DeltaPatch),
	single("fallback", "full: write the whole archive if a delta is impossible",
		func(o *Options) *string { return &o.Fallback }),
	single("lfs",
		"content: replace pointers of git-lfs (those of files with filter=lfs, and with profile=full all) by their "+
			"content, where the mirror has it; pointers: leave them",
		func(o *Options) *LFS { return &o.LFS }, LFSPointers, LFSContent),
	single("submodules",
		"content: fill the folders of submodules whose repository is served here too; omit: leave them empty, as git "+
			"archive",
		func(o *Options) *Submodules { return &o.Submodules }, SubmodulesOmit, SubmodulesContent),
	ofCheckout(single("objects",
		"all: a checkout has all objects of its commits; blobless: git fetches files from the origin when it needs "+
			"them; converted: only files that attributes or LFS change, for clients that pack the others themselves",
		func(o *Options) *Objects { return &o.Objects }, ObjectsAll, ObjectsBlobless, ObjectsConverted)),
	ofCheckout(single("depth", "number of commits in a checkout, as of git clone --depth; 1 by default",
		func(o *Options) *string { return &o.Depth })),
	ofCheckout(single("refname",
		"branch or tag that a checkout is of, by its full name; by default that of the revision",
		func(o *Options) *string { return &o.Ref })),
	ofCheckout(single("origin", "URL from which a checkout fetches; none: it has no remote",
		func(o *Options) *string { return &o.Origin })),
	ofCheckout(single("pushurl", "URL to which a checkout pushes, if that is another one",
		func(o *Options) *string { return &o.PushURL })),
}

// repeated returns an option that may be given several times.
func repeated(name, usage string, field func(*Options) *[]string) parameter {
	return parameter{
		name: name, usage: usage, repeat: true,
		get: func(o Options) []string { return *field(&o) },
		set: func(o *Options, v string) { *field(o) = append(*field(o), v) },
	}
}

// single returns an option with one value. The first of its choices is the default.
func single[T ~string](name, usage string, field func(*Options) *T, choices ...T) parameter {
	p := parameter{name: name, usage: usage, set: func(o *Options, v string) { *field(o) = T(v) }}
	for _, c := range choices {
		p.choices = append(p.choices, string(c))
	}
	p.get = func(o Options) []string {
		v := *field(&o)
		if v == "" || len(choices) > 0 && v == choices[0] {
			return nil
		}
		return []string{string(v)}
	}
	return p
}

// ofCheckout returns an option that only a checkout has.
func ofCheckout(p parameter) parameter {
	p.ofCheckout = true
	return p
}

// Parameter describes an option for a command line or a URI template.
type Parameter struct {
	Name   string
	Repeat bool // may be given several times
	Usage  string
}

// Parameters lists the options besides the format, in canonical order.
func Parameters() []Parameter {
	list := make([]Parameter, len(parameters))
	for i, p := range parameters {
		list[i] = Parameter{p.name, p.repeat, p.usage}
	}
	return list
}

// Choices returns the allowed values of an option, the default first; none if every value is
// allowed.
func Choices(option string) []string {
	for _, p := range parameters {
		if p.name == option {
			return slices.Clone(p.choices)
		}
	}
	return nil
}

// Set sets an option, or adds a value to a repeatable one. An unknown name, or a second value for
// another option, is [ErrOption]. An empty value means the default, because templates produce it
// (RFC 6570); for a path it is refused, because it would mean everything. [Options.Check] validates
// values.
func (o *Options) Set(name, value string) error {
	at := slices.IndexFunc(parameters, func(p parameter) bool { return p.name == name })
	switch {
	case at < 0:
		return fmt.Errorf("%w %q is unknown; there are %s", ErrOption, name, parameterNames())
	case value == "" && parameters[at].repeat:
		return fmt.Errorf("%w %q is empty; leave it out", ErrOption, name)
	case !parameters[at].repeat && len(parameters[at].get(*o)) > 0:
		return fmt.Errorf("%w %q is given twice", ErrOption, name)
	}
	parameters[at].set(o, value)
	return nil
}

func parameterNames() string {
	names := make([]string, len(parameters))
	for i, p := range parameters {
		names[i] = p.name
	}
	return strings.Join(names, ", ")
}

// Values returns the options that differ from their defaults as pairs of name and value, in
// canonical order.
func (o Options) Values() [][2]string {
	var list [][2]string
	for _, p := range parameters {
		for _, value := range p.get(o) {
			list = append(list, [2]string{p.name, value})
		}
	}
	return list
}

// Canonical returns one form for options with the same meaning.
func (o Options) Canonical() Options {
	o.Paths, o.Exclude = canonicalSet(o.Paths), canonicalSet(o.Exclude)
	o.Strip = strings.TrimSuffix(o.Strip, "/")
	if o.Profile == "" {
		o.Profile = ProfileArchive
	}
	if o.Objects == ObjectsAll {
		o.Objects = ""
	}
	if o.Depth == "1" {
		o.Depth = ""
	}
	if o.Base == "" {
		o.Fallback, o.Delta = "", ""
	}
	if o.Delta == DeltaFiles {
		o.Delta = ""
	}
	if o.LFS == LFSPointers {
		o.LFS = ""
	}
	if o.Submodules == SubmodulesOmit {
		o.Submodules = ""
	}
	return o
}

func canonicalSet(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// ref returns the name of a checkout's branch or tag, and whether the branch is the default one.
func (o Options) ref() (name string, isDefault bool) {
	return strings.TrimPrefix(o.Ref, defaultRef), strings.HasPrefix(o.Ref, defaultRef)
}

// takesOutside reports whether content from outside of the commit may be included.
func (o Options) takesOutside() bool {
	return o.LFS == LFSContent || o.Submodules == SubmodulesContent
}

// Check returns [ErrOption] for impossible options.
func (o Options) Check() error {
	if mediaTypes[o.Format] == "" {
		return fmt.Errorf("%w \"format\": %q is unknown", ErrOption, o.Format)
	}
	for _, p := range parameters {
		if given := p.get(o); len(p.choices) > 0 && len(given) > 0 && !slices.Contains(p.choices, given[0]) {
			choices := strings.Join(p.choices, `", "`)
			return fmt.Errorf("%w %q: %q is none of \"%s\"", ErrOption, p.name, given[0], choices)
		}
	}
	if err := o.checkCheckout(); err != nil {
		return err
	}
	if o.Base != "" && o.takesOutside() {
		// It is unknown which of this content existed when the base was archived.
		return fmt.Errorf("%w \"base\" does not go with content from outside of the commit (\"lfs\", \"submodules\")",
			ErrOption)
	}
	if o.Delta == DeltaPatch && o.Format == Zip {
		return fmt.Errorf("%w \"delta\": a zip cannot say which of its files are patches; take a tar format", ErrOption)
	}
	if o.Fallback != "" && o.Fallback != FallbackFull {
		return fmt.Errorf("%w \"fallback\": %q is not %q", ErrOption, o.Fallback, FallbackFull)
	}
	for _, folder := range []struct{ name, path string }{{"prefix", o.Prefix}, {"strip", o.Strip}} {
		if len(folder.path) > maxPrefixBytes {
			return fmt.Errorf("%w %q has %d bytes; at most %d are allowed", ErrOption, folder.name, len(folder.path),
				maxPrefixBytes)
		}
	}
	if !inside(o.Prefix) {
		return fmt.Errorf("%w \"prefix\" must be a relative path without empty, \".\" and \"..\" parts", ErrOption)
	}
	if !inside(o.Strip) {
		return fmt.Errorf("%w \"strip\" must be a folder without empty, \".\" and \"..\" parts", ErrOption)
	}
	if _, err := pathspec.New(o.Paths, o.Exclude); err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	return nil
}

func inside(path string) bool {
	if path == "" {
		return true
	}
	if strings.Contains(path, "\x00") {
		return false
	}
	for part := range strings.SplitSeq(strings.TrimRight(path, "/"), "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}
