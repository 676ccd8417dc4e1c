// Package frozen seals the directory that measures: scenarios, fixtures, rubric
// and settings of a suite. It writes down what the directory holds, hands out
// the very bytes that were hashed, and says afterwards whether anything moved.
//
// The seal is a standard mtree specification with one full path a line:
// directories with type and mode; files with type, mode, size, link count and
// sha256. Nothing that differs between two honest checkouts is in it: no time,
// no owner, no size of a directory, no comment. The frozen digest is the sha256
// of its sorted lines.
//
// The package refuses to seal what cannot be compared later: symbolic links,
// hard links, pipes, sockets and devices, unreadable files, files over 64 MiB,
// anything called .git, and names that become one name on a file system that
// folds case or normalises Unicode. It never repairs or re-seals, deletes nothing
// of a suite, and does not decide what a drift means: the caller halts.
//
// Invariants:
//   - A path is opened relative to its directory's descriptor and never through
//     a link, so no swap during the walk can lead outside the sealed directory.
//   - Load reads every file once; the bytes it keeps are the bytes it hashed.
//   - Compare is a pure function of two manifests with a fixed order of deltas.
//   - A change of content, type, mode, link count or of the set of paths is
//     drift; a change of modification time alone is not. Extended attributes
//     are not looked at.
//   - MANIFEST.mtree itself is outside the manifest; whoever edits it together
//     with a file is caught by comparing digests with the anchor kept elsewhere.
package frozen

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"loopd/internal/atomicfile"
)

// ManifestName is the file in the root of a sealed directory that holds its seal.
const ManifestName = "MANIFEST.mtree"

// MaxFileSize is the size above which a file is neither sealed nor read: sealed
// bytes are held in memory for every trial.
const MaxFileSize = 64 << 20

// Digest is a sha256 in lower-case hexadecimal: of a file, or of a whole seal.
type Digest string

// Short returns the first eight characters, for people to read.
func (d Digest) Short() string {
	return string(d[:min(8, len(d))])
}

func digestOf(data []byte) Digest {
	sum := sha256.Sum256(data)
	return Digest(hex.EncodeToString(sum[:]))
}

// Seal writes the manifest of dir into dir and returns it. The error joins one
// RefusedError for every path that cannot be sealed; then nothing is written. What
// a Seal that was killed left of its own file is no part of the suite and goes.
func Seal(ctx context.Context, dir string) (Manifest, error) {
	if err := atomicfile.Sweep(dir, ManifestName); err != nil {
		return Manifest{}, fmt.Errorf("seal %s: %w", dir, err)
	}
	scan, err := scanDir(ctx, dir, nil)
	if err != nil {
		return Manifest{}, fmt.Errorf("seal %s: %w", dir, err)
	}
	if err := refusals(scan.entries); err != nil {
		return Manifest{}, fmt.Errorf("seal %s: %w", dir, err)
	}
	text, err := encode(scan.entries)
	if err != nil {
		return Manifest{}, fmt.Errorf("seal %s: %w", dir, err)
	}
	atomicfile.Failpoint("seal.scanned")
	if err := atomicfile.WriteFile(filepath.Join(dir, ManifestName), text, 0o644); err != nil {
		return Manifest{}, fmt.Errorf("seal %s: %w", dir, err)
	}
	atomicfile.Failpoint("seal.written")
	return scan, nil
}

// Suite is a sealed directory as it was at one moment, held in memory.
type Suite struct {
	manifest Manifest
	digest   Digest
	files    memFS
}

// Load reads dir into memory, hashing each file in the same read. It refuses
// what Seal refuses. It does not look at MANIFEST.mtree: compare Digest with
// the anchor, and use ReadManifest to learn which path moved.
func Load(dir string) (*Suite, error) {
	contents := map[string][]byte{}
	m, err := scanDir(context.Background(), dir, contents)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", dir, err)
	}
	if err := refusals(m.entries); err != nil {
		return nil, fmt.Errorf("load %s: %w", dir, err)
	}
	digest, err := m.digest()
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", dir, err)
	}
	return &Suite{manifest: m, digest: digest, files: newMemFS(m.entries, contents)}, nil
}

// Digest returns the frozen digest of the bytes held.
func (s *Suite) Digest() Digest { return s.digest }

// Manifest returns the manifest of the bytes held. It remembers which directory
// on disk was read, so that Verify notices when another one stands in its place.
func (s *Suite) Manifest() Manifest { return s.manifest }
