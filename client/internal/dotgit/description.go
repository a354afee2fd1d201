package dotgit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/config"

	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/archive/checkout"
	"github.com/repomcp/repomcp/internal/git"
)

// description is what the small files of .git say, and all that is taken from them.
type description struct {
	checkout.Ref
	remote  checkout.Remote
	shallow []git.ID
}

const (
	heads   = "refs/heads/"
	tags    = "refs/tags/"
	remotes = "refs/remotes/origin/"
)

// Branch returns the full name of the branch that a checkout is of, or "".
func (d *description) Branch() string {
	if strings.HasPrefix(d.Name, heads) {
		return d.Name
	}
	return ""
}

// Tracking returns the name of the ref in which a clone remembers the server's branch or tag, or ""
// for a commit alone.
func (d *description) Tracking() string {
	if branch, ok := strings.CutPrefix(d.Name, heads); ok {
		return remotes + branch
	}
	return d.Name
}

// IsTag reports whether the checkout is of a tag.
func (d *description) IsTag() bool { return strings.HasPrefix(d.Name, tags) }

// describe reads the small files of .git.
func (in *Incoming) describe() error {
	for _, needed := range []string{headFile, configFile} {
		if !in.seen[needed] {
			return untrusted("it has no %s", needed)
		}
	}
	in.Target = in.Commit
	for _, read := range []func() error{in.readHead, in.readRefs, in.readRemoteHead, in.readShallow, in.readConfig} {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// readHead takes the branch, if HEAD is not detached.
func (in *Incoming) readHead() error {
	text := strings.TrimSuffix(string(in.texts[headFile]), "\n")
	if name, ok := strings.CutPrefix(text, "ref: "); ok {
		in.Name = name
		return checkName(name, heads)
	}
	if text != in.Commit.String() {
		return untrusted("its HEAD is neither a branch nor the commit %s", in.Commit)
	}
	return nil
}

// checkName refuses what is no name of a ref with a prefix.
func checkName(name, prefix string) error {
	if !strings.HasPrefix(name, prefix) || plumbing.ReferenceName(name).Validate() != nil {
		return untrusted("%.300q is no name of a ref in %s", name, prefix)
	}
	return nil
}

// readRefs takes the tag of a detached HEAD, and checks the others: they hold the commit.
func (in *Incoming) readRefs() error {
	for line := range strings.Lines(string(in.texts[packedFile])) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") || line == "^"+in.Commit.String() {
			continue
		}
		digits, name, _ := strings.Cut(line, " ")
		id, err := git.ParseID(digits)
		if err != nil {
			return untrusted("the line %.300q of its packed-refs is malformed", line)
		}
		branch, isBranch := strings.CutPrefix(in.Name, heads)
		switch {
		case id == in.Commit && isBranch && (name == in.Name || name == remotes+branch):
			continue
		case in.Name != "":
			return untrusted("it has the ref %.300q", name)
		}
		if err := checkName(name, tags); err != nil {
			return err
		}
		in.Name, in.Target = name, id
	}
	return nil
}

func (in *Incoming) readRemoteHead() error {
	text, ok := in.texts[remoteHeadFile]
	branch, isBranch := strings.CutPrefix(in.Name, heads)
	if ok && (!isBranch || string(text) != "ref: "+remotes+branch+"\n") {
		return untrusted("its default branch is another one")
	}
	in.Default = ok
	return nil
}

func (in *Incoming) readShallow() error {
	for line := range strings.Lines(string(in.texts[shallowFile])) {
		id, err := git.ParseID(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return untrusted("its list of cut commits has the line %.300q", line)
		}
		in.shallow = append(in.shallow, id)
	}
	return nil
}

// settings are the keys that the configuration of a checkout may have. The values of core are those
// of any repository with a working tree, and this program writes its own.
var settings = map[string][]string{
	"core.repositoryformatversion": {"0"}, "core.filemode": {"true"}, "core.bare": {"false"},
	"core.logallrefupdates": {"true"}, "core.checkstat": {"minimal"}, "core.trustctime": {"false"},
	"remote.origin.url": nil, "remote.origin.pushurl": nil, "remote.origin.fetch": nil,
	"branch.*.remote": {"origin"}, "branch.*.merge": nil,
}

// readConfig takes the URLs of the remote, and refuses a configuration with any other key than those
// of a checkout.
func (in *Incoming) readConfig() error {
	parsed := config.New()
	if err := config.NewDecoder(bytes.NewReader(in.texts[configFile])).Decode(parsed); err != nil {
		return untrusted("its configuration is malformed: %w", err)
	}
	for _, section := range parsed.Sections {
		name := strings.ToLower(section.Name)
		if err := in.take(name, section.Options); err != nil {
			return err
		}
		for _, part := range section.Subsections {
			inner := name + "." + part.Name
			if inner == "branch."+strings.TrimPrefix(in.Name, heads) {
				inner = "branch.*"
			}
			if err := in.take(inner, part.Options); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *description) take(section string, options config.Options) error {
	for _, option := range options {
		key := section + "." + strings.ToLower(option.Key)
		values, known := settings[key]
		if !known || values != nil && !slices.Contains(values, option.Value) {
			return untrusted("its configuration has %.300q", key+"="+option.Value)
		}
		urls := map[string]*string{"remote.origin.url": &d.remote.URL, "remote.origin.pushurl": &d.remote.PushURL}
		url, ok := urls[key]
		if !ok {
			continue // it follows from the ref
		}
		if err := checkout.CheckURL(option.Value); err != nil {
			return untrusted("its remote %.300q %w", option.Value, err)
		}
		*url = option.Value
	}
	return nil
}

// localConfig adapts a configuration to this system. folds says that the file system takes names that
// differ in case for equal.
func localConfig(text []byte, folds bool, able unpack.Abilities) ([]byte, error) {
	c := config.New()
	if err := config.NewDecoder(bytes.NewReader(text)).Decode(c); err != nil {
		return nil, fmt.Errorf("the configuration of a checkout: %w", err)
	}
	core := c.Section("core")
	if hasStat { // the index knows more of its files than their size
		core.RemoveOption("checkStat").RemoveOption("trustctime")
	}
	if !able.Modes {
		core.SetOption("filemode", "false")
	}
	if !able.Links {
		core.SetOption("symlinks", "false")
	}
	if folds {
		core.SetOption("ignorecase", "true")
	}
	var out bytes.Buffer
	err := config.NewEncoder(&out).Encode(c)
	return out.Bytes(), err
}
