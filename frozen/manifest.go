package frozen

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	mtree "github.com/vbatts/go-mtree"
	"github.com/vbatts/go-mtree/pkg/govis"
)

// Type is the kind of a directory entry, in mtree's words.
type Type string

// The types a walk can meet. Only directories and files can be sealed; the
// others exist so that a drift can name what was found.
const (
	TypeDir     Type = "dir"
	TypeFile    Type = "file"
	TypeLink    Type = "link"
	TypePipe    Type = "fifo"
	TypeSocket  Type = "socket"
	TypeChar    Type = "char"
	TypeBlock   Type = "block"
	TypeUnknown Type = "unknown"
)

// Entry is one path of a manifest. Size, Links and Sum belong to files only.
type Entry struct {
	Path  string // slash-separated, relative to the root; the root itself is "."
	Type  Type
	Mode  uint32 // the twelve permission bits, as chmod takes them
	Size  int64
	Links uint64
	Sum   Digest
	// Problem says why the entry could not be read; it is empty in every
	// manifest that was sealed or parsed.
	Problem string
}

// identity tells one directory on this machine from another at the same path.
type identity struct{ dev, ino uint64 }

// Manifest is the content of a sealed directory at one moment, ordered by path.
// The zero Manifest is an empty one.
type Manifest struct {
	entries []Entry
	root    identity // zero when the manifest was parsed, not walked
}

// Entries returns a copy of the entries in order of their paths.
func (m Manifest) Entries() []Entry { return slices.Clone(m.entries) }

// Mode returns the permission bits sealed for path, or 0 for a path that is not
// in the manifest. It has the form Materialise wants for an embedded suite.
func (m Manifest) Mode(path string) fs.FileMode {
	i, ok := slices.BinarySearchFunc(m.entries, Entry{Path: path}, byPath)
	if !ok {
		return 0
	}
	return fs.FileMode(m.entries[i].Mode) & fs.ModePerm
}

// Digest returns the frozen digest: the sha256 of the manifest's sorted lines.
// It is empty for a manifest that holds a path which cannot be written down.
func (m Manifest) Digest() Digest {
	d, err := m.digest()
	if err != nil {
		return ""
	}
	return d
}

func (m Manifest) digest() (Digest, error) {
	text, err := encode(m.entries)
	if err != nil {
		return "", err
	}
	lines := slices.Sorted(strings.Lines(string(text)))
	h := sha256.New()
	for _, line := range lines {
		h.Write([]byte(line))
	}
	return Digest(hex.EncodeToString(h.Sum(nil))), nil
}

// Text returns the manifest as it is written to MANIFEST.mtree.
func (m Manifest) Text() ([]byte, error) { return encode(m.entries) }

func encode(entries []Entry) ([]byte, error) {
	var dh mtree.DirectoryHierarchy
	for i, e := range entries {
		line, err := specLine(e)
		if err != nil {
			return nil, err
		}
		line.Pos = i
		dh.Entries = append(dh.Entries, line)
	}
	var buf bytes.Buffer
	if _, err := dh.WriteTo(&buf); err != nil {
		return nil, fmt.Errorf("write manifest: %w", err)
	}
	return buf.Bytes(), nil
}

// specLine uses full paths: with mtree's nested form a line would not say which
// directory it belongs to, and sorting the lines would hide a move.
func specLine(e Entry) (mtree.Entry, error) {
	name, kind := ".", mtree.RelativeType
	if e.Path != "." {
		visible, err := govis.Vis(e.Path, mtree.DefaultVisFlags)
		if err != nil {
			return mtree.Entry{}, fmt.Errorf("write manifest: name %q: %w", e.Path, err)
		}
		name, kind = "./"+visible, mtree.FullType
	}
	kvs := []mtree.KeyVal{
		mtree.KeyVal("type=" + string(e.Type)),
		mtree.KeyVal(fmt.Sprintf("mode=%#o", e.Mode)),
	}
	if e.Type == TypeFile {
		kvs = append(kvs,
			mtree.KeyVal(fmt.Sprintf("size=%d", e.Size)),
			mtree.KeyVal(fmt.Sprintf("nlink=%d", e.Links)),
			mtree.KeyVal("sha256digest="+string(e.Sum)))
	}
	return mtree.Entry{Name: name, Type: kind, Keywords: kvs}, nil
}

// ParseManifest reads the text of a MANIFEST.mtree. It accepts exactly what
// Seal writes: any other spelling of the same facts is an error, because an
// edited manifest must be noticed and not interpreted.
func ParseManifest(text []byte) (Manifest, error) {
	// The seal continues no line, and go-mtree panics on one that it joins to nothing.
	if bytes.HasSuffix(text, []byte(`\`)) || bytes.Contains(text, []byte("\\\n")) || bytes.Contains(text, []byte("\\\r")) {
		return Manifest{}, fmt.Errorf("parse manifest: a line is continued")
	}
	dh, err := mtree.ParseSpec(bytes.NewReader(text))
	if err != nil {
		return Manifest{}, fmt.Errorf("parse manifest: %w", err)
	}
	var m Manifest
	for i, line := range dh.Entries {
		e, err := parseLine(line)
		if err != nil {
			return Manifest{}, fmt.Errorf("parse manifest: entry %d: %w", i+1, err)
		}
		m.entries = append(m.entries, e)
	}
	for i, e := range m.entries {
		if i > 0 && byPath(m.entries[i-1], e) >= 0 {
			return Manifest{}, fmt.Errorf("parse manifest: %s is out of order", e.Path)
		}
	}
	again, err := encode(m.entries)
	if err != nil {
		return Manifest{}, fmt.Errorf("parse manifest: %w", err)
	}
	if !bytes.Equal(again, text) {
		return Manifest{}, fmt.Errorf("parse manifest: not in the form the seal is written in")
	}
	return m, nil
}

func parseLine(line mtree.Entry) (Entry, error) {
	if line.Type != mtree.FullType && line.Type != mtree.RelativeType {
		return Entry{}, fmt.Errorf("a %s line does not belong in a seal", line.Type)
	}
	path, err := line.Path()
	if err != nil {
		return Entry{}, fmt.Errorf("name %q: %w", line.Name, err)
	}
	e := Entry{Path: path}
	for _, kv := range line.Keywords {
		if err := e.set(kv); err != nil {
			return Entry{}, fmt.Errorf("%s: %w", path, err)
		}
	}
	if e.Type != TypeDir && e.Type != TypeFile {
		return Entry{}, fmt.Errorf("%s: type %q does not belong in a seal", path, e.Type)
	}
	return e, nil
}

func (e *Entry) set(kv mtree.KeyVal) error {
	var err error
	switch kv.Keyword() {
	case "type":
		e.Type = Type(kv.Value())
	case "mode":
		var mode uint64
		mode, err = strconv.ParseUint(kv.Value(), 8, 12)
		e.Mode = uint32(mode)
	case "size":
		e.Size, err = strconv.ParseInt(kv.Value(), 10, 64)
	case "nlink":
		e.Links, err = strconv.ParseUint(kv.Value(), 10, 64)
	case "sha256digest":
		e.Sum = Digest(kv.Value())
		if raw, bad := hex.DecodeString(kv.Value()); bad != nil || len(raw) != sha256.Size || hex.EncodeToString(raw) != kv.Value() {
			err = fmt.Errorf("not a sha256")
		}
	default:
		return fmt.Errorf("keyword %q does not belong in a seal", kv)
	}
	if err != nil {
		return fmt.Errorf("keyword %q: %w", kv, err)
	}
	return nil
}

// ReadManifest reads the MANIFEST.mtree in dir. The error wraps fs.ErrNotExist
// when dir was never sealed. A manifest read this way says what was sealed, not
// what is there now, and only its Digest says whether it is the sealed one.
func ReadManifest(dir string) (Manifest, error) {
	text, err := readManifestFile(dir)
	if err != nil {
		return Manifest{}, fmt.Errorf("read seal of %s: %w", dir, err)
	}
	m, err := ParseManifest(text)
	if err != nil {
		return Manifest{}, fmt.Errorf("read seal of %s: %w", dir, err)
	}
	return m, nil
}

// Verify looks at dir again and says how it differs from want; nil is no drift.
// A path that cannot be read is drift. The error is for a verification that did
// not happen: ctx ended, or this process ran out of descriptors or memory.
func Verify(ctx context.Context, dir string, want Manifest) (*Drift, error) {
	got, err := scanDir(ctx, dir, nil)
	if err != nil {
		return nil, fmt.Errorf("verify seal of %s: %w", dir, err)
	}
	deltas := Compare(want, got)
	if len(deltas) == 0 {
		return nil, nil
	}
	return &Drift{Deltas: deltas, Old: want.Digest(), New: got.Digest()}, nil
}

// byPath puts the root first: "." alone would sort after a name like "-x".
func byPath(a, b Entry) int { return cmp.Compare(a.sortKey(), b.sortKey()) }

func (e Entry) sortKey() string {
	if e.Path == "." {
		return ""
	}
	return e.Path
}
