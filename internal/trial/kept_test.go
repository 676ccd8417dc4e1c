package trial_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loopd/harness"
	"loopd/internal/redact"
	"loopd/internal/testenv"
	"loopd/internal/trial"
)

func sha(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// changes reads the kept changes of an attempt.
func changes(data []byte) (trial.Changes, error) {
	var c trial.Changes
	err := json.Unmarshal(data, &c)
	return c, err
}

// readable is a kept file as a person who looks for a text would read it: the
// strings of its JSON without escapes, and the bytes of changed files.
func readable(name string, data []byte) string {
	var b strings.Builder
	if c, err := changes(data); name == trial.ChangesFile && err == nil {
		for path, f := range c.Written {
			b.WriteString(path + "\n" + string(f.Data) + "\n")
		}
		return b.String()
	}
	for line := range bytes.Lines(data) {
		var v any
		if json.Unmarshal(line, &v) != nil {
			b.Write(line)
			continue
		}
		addStrings(&b, v)
	}
	return b.String()
}

func addStrings(b *strings.Builder, v any) {
	switch v := v.(type) {
	case string:
		b.WriteString(v + "\n")
	case []any:
		for _, e := range v {
			addStrings(b, e)
		}
	case map[string]any:
		for _, e := range v {
			addStrings(b, e)
		}
	}
}

func TestChanges_RebuildTheEndState(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	got := b.one("N1", play{steps: []harness.Step{
		{Bash: `set -e
printf 'caf\351\n' > raw.bin
chmod 755 Rakefile
rm Gemfile
mkdir -p deep/er && echo one > deep/er/new.txt && chmod 600 deep/er/new.txt
rm README.md && ln -s /etc/hostname README.md
ln -s nowhere dangling
rm -r test && echo flat > test
mkfifo pipe
echo no > .git/evil`},
		{Text: "Done."},
	}})
	if got.Class != harness.Valid {
		t.Fatalf("got %s: %s", got.Class, got.Why)
	}
	c, err := changes(b.kept(got.ID)[trial.ChangesFile])
	testenv.Must(t, err)
	want := map[string]trial.Written{
		"raw.bin":         {Mode: 0o644, Data: []byte("caf\xe9\n")},
		"deep/er/new.txt": {Mode: 0o600, Data: []byte("one\n")},
		"README.md":       {Mode: fs.ModeSymlink | 0o777, Data: []byte("/etc/hostname")},
		"dangling":        {Mode: fs.ModeSymlink | 0o777, Data: []byte("nowhere")},
		"test":            {Mode: 0o644, Data: []byte("flat\n")},
		"pipe":            {Mode: fs.ModeNamedPipe | 0o644, Data: []byte{}},
		"Rakefile":        {Mode: 0o755, Data: b.o.Suite.Fixtures["webhook-relay"]["Rakefile"].Data},
	}
	removed := []string{"Gemfile", "test/delivery_test.rb", "test/reports_test.rb", "test/store_test.rb"}
	testenv.Same(t, "result", trial.Changes{Written: want, Removed: removed}, c, nilIsEmpty())
	end := b.o.Suite.Fixtures["webhook-relay"]
	end, err = end.With([]harness.Change{{Remove: "Gemfile"}, {Remove: "test"}})
	testenv.Must(t, err)
	for name, f := range want {
		end[name] = harness.File{Mode: f.Mode, Data: f.Data}
	}
	testenv.Same(t, "result", end, c.Apply(b.o.Suite.Fixtures["webhook-relay"]), nilIsEmpty())
}

// nilIsEmpty makes a file without bytes equal to one with none.
func nilIsEmpty() cmp.Option {
	return cmp.Comparer(func(a, b []byte) bool { return bytes.Equal(a, b) })
}

func TestRun_SecretsNeverReachTheDisk(t *testing.T) {
	t.Parallel()
	const exact, family = "planted value 7731", "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	b := newBench(t)
	b.o.Redactor = redact.New(exact)
	got := b.one("R2", play{steps: []harness.Step{
		{Bash: "echo '" + exact + " " + family + "'; env; echo 'note " + exact + " " + family + "' > /proc/$PPID/fd/2"},
		{Bash: "echo '" + exact + "' | base64; echo 'key=" + family + "; " + exact + "' > lib/leak.txt"},
		{Text: "The value is " + exact + "."},
	}})
	files := b.kept(got.ID)
	key := b.keys[got.ID]
	if got.Class != harness.Valid || key == "" {
		t.Fatalf("got %s (%s), key %q", got.Class, got.Why, key)
	}
	for name, data := range files {
		text := readable(name, data) + string(data)
		for _, secret := range []string{exact, family, key, "cGxhbnRlZCB2YWx1ZSA3NzMx"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %.8s…", name, secret)
			}
		}
	}
	for name, witness := range map[string]string{
		trial.TranscriptFile: "The value is ", trial.StderrFile: "note ", trial.ChangesFile: "key=",
	} {
		if !strings.Contains(readable(name, files[name]), witness) {
			t.Errorf("%s: %q is not there, so nothing was tried", name, witness)
		}
	}
}

func TestRun_ClearsAnInterruptedAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	spec := b.spec("N1", "haiku", 1, play{})
	old := filepath.Join(b.o.Store, spec.TrialID())
	testenv.Must(t, os.MkdirAll(old, 0o700))
	for _, name := range []string{trial.TranscriptFile, "left.txt"} {
		testenv.Must(t, os.WriteFile(filepath.Join(old, name), []byte("{\"type\":\"result\"}\n"), 0o600))
	}
	got, err := b.executor("N1").Run(t.Context(), spec)
	testenv.Must(t, err)
	b.wantScored(got, harness.Pass)
	for name := range b.kept(got.ID) {
		info, err := os.Stat(filepath.Join(old, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
}
