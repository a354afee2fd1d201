package gittest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// FoldingFolder is a folder of exFAT, which keeps the case of names and takes those that differ in it for one, as the
// file systems of Windows and macOS do. The kernel remembers for a second that a name leads to a file, also when that
// was removed by its other name. The test is skipped where exFAT cannot be mounted.
func FoldingFolder(t testing.TB) string {
	t.Helper()
	image, dir := filepath.Join(t.TempDir(), "image"), t.TempDir()
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, 32<<20)); err != nil { // a sparse file
		t.Fatal(err)
	}
	run := func(command ...string) string {
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		if err != nil {
			t.Skipf("there is no exFAT here: %s: %v: %s", command[0], err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("mkfs.exfat", image)
	device := run("losetup", "--find", "--show", image)
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", device).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	run("mount.exfat-fuse", "-o", "dmask=022,fmask=0133", device, dir)
	t.Cleanup(func() {
		// A program that another test starts at this moment has descriptors of this process until it runs: lazily.
		if out, err := exec.Command("umount", "--lazy", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return dir
}
