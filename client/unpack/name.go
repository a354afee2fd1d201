package unpack

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/base/filenames"
)

const (
	reservedFolder = ".repomcp"
	manifestPath   = reservedFolder + "/manifest.json"
	// temporaryPrefix begins the names of files that are not complete.
	temporaryPrefix = reservedFolder + "-tmp-"
)

// nameRule refuses a component of a path, on all systems or on some.
type nameRule struct {
	reason  Reason
	systems []string // as GOOS has them; nil means all
	breaks  func(component string) bool
}

var nameRules = []nameRule{
	{EmptyName, nil, func(c string) bool { return c == "" }},
	{Dots, nil, func(c string) bool { return c == "." || c == ".." }},
	{NULByte, nil, func(c string) bool { return strings.IndexByte(c, 0) >= 0 }},
	{Separator, []string{"windows"}, func(c string) bool { return strings.ContainsAny(c, `\:`) }},
	{GitFolder, nil, filenames.StandsForGit},
	{ReservedName, nil, isReserved},
	{DeviceName, []string{"windows"}, isDevice},
	{InvalidName, []string{"windows"}, isInvalidOnWindows},
	{NotUnicode, []string{"windows", "darwin", "ios"}, func(c string) bool { return !utf8.ValidString(c) }},
}

// checkPath returns why a path is refused on a system, or "".
func checkPath(goos, path string) Reason {
	if strings.HasPrefix(path, "/") {
		return Absolute
	}
	for component := range strings.SplitSeq(path, "/") {
		for _, rule := range nameRules {
			if (rule.systems == nil || slices.Contains(rule.systems, goos)) && rule.breaks(component) {
				return rule.reason
			}
		}
	}
	return ""
}

func isReserved(component string) bool {
	plain := filenames.Visible(component)
	return filenames.StandsFor(component, reservedFolder, "repomc~") ||
		len(plain) >= len(temporaryPrefix) && strings.EqualFold(plain[:len(temporaryPrefix)], temporaryPrefix)
}

// isManifest recognises the only member below .repomcp that can be taken. An archive with a prefix
// has it below that.
func isManifest(path string) (dir string, ok bool) {
	dir, ok = strings.CutSuffix("/"+path, "/"+manifestPath)
	return strings.TrimPrefix(dir, "/"), ok
}

// isGit recognises the folder .git of the root, and what is in it.
func isGit(path string) bool { return path == ".git" || strings.HasPrefix(path, ".git/") }

// devices have these names in every folder of Windows, with any extension.
var devices = []string{"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}

func isDevice(component string) bool {
	base, _, _ := strings.Cut(component, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	for _, port := range []string{"COM", "LPT"} {
		if number, ok := strings.CutPrefix(base, port); ok && utf8.RuneCountInString(number) == 1 {
			return strings.Contains("123456789¹²³", number)
		}
	}
	return slices.Contains(devices, base)
}

func isInvalidOnWindows(component string) bool {
	control := func(r rune) bool { return r < 0x20 }
	return strings.ContainsAny(component, `<>"|?*`) || strings.ContainsFunc(component, control) ||
		strings.HasSuffix(component, ".") || strings.HasSuffix(component, " ")
}

// autoRunFiles end the paths of files that an editor or a shell runs automatically.
var autoRunFiles = []string{
	"/.envrc", "/.vscode/tasks.json", "/.devcontainer/devcontainer.json", "/.devcontainer.json",
}

func isRunBySomething(path string) bool {
	return slices.ContainsFunc(autoRunFiles, func(end string) bool { return strings.HasSuffix("/"+path, end) })
}

// isNameError reports whether an error can be that of a name that the file system does not allow. Some of them are
// errors of other things, too.
func isNameError(err error) bool {
	return slices.ContainsFunc([]error{fs.ErrNotExist, syscall.EINVAL, syscall.EILSEQ, syscall.ENAMETOOLONG},
		func(of error) bool { return errors.Is(err, of) })
}

// withReason refuses a member whose name the file system does not allow, and returns other errors as they are. Which
// it is cannot be told from the error: a folder that takes another name shows it.
func withReason(root *os.Root, at string, err error) error {
	if !isNameError(err) || !isTaken(root, temporaryPrefix+"name") || isTaken(root, path.Base(at)) {
		return err
	}
	return refuse(NotAllowed, at)
}

// isTaken reports whether a file can have a name.
func isTaken(root *os.Root, name string) bool {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_ = errors.Join(file.Close(), root.Remove(name)) // cleaned up later
	}
	return err == nil || errors.Is(err, fs.ErrExist)
}
