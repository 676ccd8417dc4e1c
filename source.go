// Package loopd is the root of the module. It holds the source text of the part
// of the program that measures, so that a running binary can say which
// measurement it is: the digest of these files is one component of the
// Instrument, and trials of two instruments are never pooled.
//
// It refuses to know anything else and imports nothing of ours. Invariants:
// every Go file of the measuring packages is in the digest, wherever the binary
// was built; test files are not, and neither is what only shows or stores
// results, so that a repaired dashboard does not end a campaign.
package loopd

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"strings"
)

//go:embed harness/*.go harness/*/*.go harness/schema/*.json stats/*.go internal/agent/*.go internal/isolate/*.go internal/gateway/*.go internal/trial/*.go
var sources embed.FS

// SourceDigest returns the sha256, in hexadecimal, of every Go file that
// launches, parses, checks or decides, in the order of their paths.
func SourceDigest() string {
	sum, err := digest(sources)
	if err != nil {
		// The files are part of the program; reading them cannot fail.
		panic(fmt.Sprintf("digest of the embedded sources: %v", err))
	}
	return sum
}

// SourceDigestOf returns the same for one folder of them alone, such as
// harness/trace: what only those files decide does not change with the others.
func SourceDigestOf(dir string) (string, error) {
	sub, err := fs.Sub(sources, dir)
	if err != nil {
		return "", fmt.Errorf("digest of %s: %w", dir, err)
	}
	return digest(sub)
}

func digest(fsys fs.FS) (string, error) {
	h := sha256.New()
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") {
			return err
		}
		return addFile(h, fsys, name)
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// addFile hashes name and length before the content, so that moving bytes from
// one file to the next is a change.
func addFile(h hash.Hash, fsys fs.FS, name string) error {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	fmt.Fprintf(h, "%s\n%d\n", name, len(text))
	h.Write(text)
	return nil
}
