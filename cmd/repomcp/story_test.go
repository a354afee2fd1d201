package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/repomcp/repomcp/internal/gittest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"repomcp": main, "rush": rushMain})
}

// TestStories runs the whole program against the stories in testdata. What
// they can say besides the commands of testscript:
//
//	url LOG             wait until the server wrote its address to LOG; sets $URL
//	http METHOD URL [NAME:VALUE ...] [@BODY]
//	                    send a request; the reply goes to reply.head and reply.body
//	header NAME VAR     set $VAR to a header of the last reply
//	await FILE REGEXP   wait until another program has written a match into the file
//	tarlist FILE        print what a tar or tar.gz file holds
//	gateway DIR         run an S3 server over a new folder, in which each folder is
//	                    a bucket; sets $S3 to the URL of the bucket archives
//	certificate CERT KEY NAME DAYS
//	                    write a certificate for a name that ends in so many days, and
//	                    its key
//	transcript ERA FILE print what the requests in FILE result in; ERA is modern
//	                    or session
//	answer FILE         print what models read when the tools in FILE are called
//
// With -update, files that stdout is compared with are written anew.
func TestStories(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	samples, err := filepath.Abs("../../testrepos")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"url": waitForURL, "http": sendRequest, "header": takeHeader, "tarlist": listTar, "await": await,
			"transcript": transcribe, "answer": answer, "gateway": runGateway, "certificate": writeCertificate,
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("SAMPLES", samples)
			env.Setenv("REPOMCP_LISTEN", "127.0.0.1:0") // another program may have the default
			for _, variable := range gittest.Env() {
				if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "GIT_") {
					env.Setenv(name, value)
				}
			}
			return nil
		},
	})
}

var listening = regexp.MustCompile(`listening on (http://\S+),`)

func waitForURL(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(gittest.Wait(func() error {
		log, err := os.ReadFile(ts.MkAbs(args[0]))
		match := listening.FindSubmatch(log)
		if match == nil {
			return fmt.Errorf("the log has no address of the server: %w\n%s", err, log)
		}
		ts.Setenv("URL", string(match[1]))
		return nil
	}))
}

// await FILE PATTERN waits until a program in the background has written a match into a file.
func await(ts *testscript.TestScript, _ bool, args []string) {
	wanted, err := regexp.Compile(args[1])
	ts.Check(err)
	ts.Check(gittest.Wait(func() error {
		content, err := os.ReadFile(ts.MkAbs(args[0]))
		if !wanted.Match(content) {
			return fmt.Errorf("%s has no match of %s: %w\n%s", args[0], args[1], err, content)
		}
		return nil
	}))
}

// runGateway takes its credentials from the variables that the story has for
// those of the server.
func runGateway(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.Mkdir(dir, 0o755))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	address := listener.Addr().String()
	ts.Check(listener.Close())
	gateway := exec.Command("versitygw", "--access", ts.Getenv("AWS_ACCESS_KEY_ID"), "--secret",
		ts.Getenv("AWS_SECRET_ACCESS_KEY"), "--port", address, "--quiet", "posix", dir)
	ts.Check(gateway.Start())
	ts.Defer(func() {
		_ = gateway.Process.Kill() // it may have ended
		_ = gateway.Wait()
	})
	ts.Check(gittest.WaitForListener(address))
	ts.Setenv("S3", "s3://archives?region=us-east-1&use_path_style=true&endpoint=http://"+address)
}

func writeCertificate(ts *testscript.TestScript, _ bool, args []string) {
	days, err := strconv.Atoi(args[3])
	ts.Check(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	end := time.Now().Add(time.Duration(days)*24*time.Hour + time.Hour)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{args[2]}, NotBefore: end.AddDate(-1, 0, 0), NotAfter: end,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	ts.Check(err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
}

// sendRequest fails when the body does not end properly; with "!" it must.
func sendRequest(ts *testscript.TestScript, neg bool, args []string) {
	var body io.Reader
	header := make(http.Header)
	for _, arg := range args[2:] {
		if file, ok := strings.CutPrefix(arg, "@"); ok {
			body = strings.NewReader(os.Expand(ts.ReadFile(file), ts.Getenv))
			continue
		}
		name, value, _ := strings.Cut(arg, ":")
		header.Add(name, strings.TrimSpace(value))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, args[0], args[1], body)
	ts.Check(err)
	request.Header = header
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	ts.Check(err)
	content, err := io.ReadAll(response.Body)
	ts.Check(response.Body.Close())
	if (err != nil) != neg {
		ts.Fatalf("the body of %d bytes ended with %v", len(content), err)
	}
	var head bytes.Buffer
	fmt.Fprintln(&head, response.Status)
	ts.Check(response.Header.Write(&head))
	ts.Check(os.WriteFile(ts.MkAbs("reply.head"), bytes.ReplaceAll(head.Bytes(), []byte("\r"), nil), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("reply.body"), content, 0o600))
}

func takeHeader(ts *testscript.TestScript, _ bool, args []string) {
	for line := range strings.Lines(ts.ReadFile("reply.head")) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(name, args[0]) {
			ts.Setenv(args[1], strings.TrimSpace(value))
			return
		}
	}
	ts.Fatalf("the reply has no header %s:\n%s", args[0], ts.ReadFile("reply.head"))
}

// listTar prints a line per entry, sorted, as a user sees it after unpacking.
func listTar(ts *testscript.TestScript, _ bool, args []string) {
	content := []byte(ts.ReadFile(args[0]))
	var source io.Reader = bytes.NewReader(content)
	if bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
		zr, err := gzip.NewReader(source)
		ts.Check(err)
		source = zr
	}
	var lines []string
	reader := tar.NewReader(source)
	for {
		h, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		ts.Check(err)
		sum := sha256.New()
		_, err = io.Copy(sum, reader)
		ts.Check(err)
		lines = append(lines, fmt.Sprintf("%c %04o %d %q %q %x\n", h.Typeflag, h.Mode, h.ModTime.Unix(), h.Name,
			h.Linkname, sum.Sum(nil)))
	}
	_, err := io.Copy(io.Discard, source) // the rest must be there as well
	ts.Check(err)
	sort.Strings(lines)
	_, err = io.WriteString(ts.Stdout(), strings.Join(lines, ""))
	ts.Check(err)
}
