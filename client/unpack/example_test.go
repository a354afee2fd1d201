package unpack_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/repomcp/repomcp/client/unpack"
)

// exampleArchive stands for a download.
func exampleArchive(files ...string) io.Reader {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range files {
		_ = w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: 6})
		_, _ = io.WriteString(w, "hello\n")
	}
	_ = w.Close()
	return &out
}

func exampleRoot() *os.Root {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		panic(err)
	}
	return root
}

func ExampleUnpacker_Tar() {
	root := exampleRoot()
	defer func() { _ = os.RemoveAll(root.Name()) }()
	defer func() { _ = root.Close() }()

	u := unpack.New(root, unpack.Options{
		Choose: func(m unpack.Member, _ io.Reader) (unpack.Choice, error) {
			return unpack.Choice{Skip: m.Path == "edited.txt"}, nil
		},
		Done: func(w unpack.Written) error {
			fmt.Println(w.Path, w.Size, w.ID)
			return nil
		},
	})
	report, err := u.Tar(context.Background(), exampleArchive("edited.txt", "hello.txt"))
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Files, "written,", report.Skipped, "skipped")
	// Output:
	// hello.txt 6 ce013625030ba8dba906f756967f9e9ca394464a
	// 1 written, 1 skipped
}

func ExampleRefusedError() {
	root := exampleRoot()
	defer func() { _ = os.RemoveAll(root.Name()) }()
	defer func() { _ = root.Close() }()

	_, err := unpack.New(root, unpack.Options{}).Tar(context.Background(), exampleArchive("sub/.GIT/config"))
	var refused *unpack.RefusedError
	if errors.As(err, &refused) {
		fmt.Println(refused.Paths, refused.Reason == unpack.GitFolder)
	}
	fmt.Println(err)
	// Output:
	// [sub/.GIT/config] true
	// unpack: "sub/.GIT/config": refused, its path has a component that some system takes for .git
}
