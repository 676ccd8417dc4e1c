package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loopd/internal/hint"
	"loopd/internal/testenv"
)

// sinks are everything loopd wrote: every file below the directories by name, with
// the objects of every repository taken out of their packing.
func (l *leaky) sinks(dirs ...string) map[string][]byte {
	l.t.Helper()
	out := make(map[string][]byte)
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if name := d.Name(); d.IsDir() && (name == ".git" || strings.HasSuffix(name, ".git")) {
				out[path+" objects"] = l.git(path, "--git-dir", path, "cat-file", "--batch-all-objects", "--batch")
				out[path+" references"] = l.git(path, "--git-dir", path, "for-each-ref")
			}
			if d.Type().IsRegular() {
				out[path], err = os.ReadFile(path)
			}
			return err
		})
		testenv.Must(l.t, err)
	}
	return out
}

// wantSinks wants files of these names among what was written, so that a walk
// which misses them is seen.
func wantSinks(t *testing.T, sinks map[string][]byte, names ...string) {
	t.Helper()
	for _, name := range names {
		found := false
		for path := range sinks {
			found = found || strings.HasSuffix(path, name)
		}
		if !found {
			t.Errorf("nothing was written to %s", name)
		}
	}
}

// TestNoSecretIsInAnySink: secrets a session reads, writes, says and is told, that
// its plugin and its judge print and that a candidate holds are in no file below
// the state directory, in no commit, and in nothing loopd prints, not even when it
// crashes.
func TestNoSecretIsInAnySink(t *testing.T) {
	t.Parallel()
	l := newLeaky(t)
	if got := leaked([]byte(allSecrets() + ownKey)); len(got) != len(plantedSecrets())+1 || len(plantedSecrets()) < 14 {
		t.Fatalf("planted: found %q of %d", got, len(plantedSecrets()))
	}

	note := filepath.Join(l.dir, "note.md")
	l.put(note, "[os-adr] Decisions of this project are kept in docs/adr. Look there first.\n", 0o644)
	edit := "hooks/session-start-note.md=" + note
	l.loopd(hint.Usage, "candidate", "add", "--file", edit, "--rationale", "because "+plantedSecrets()["github"].text)
	l.loopd(hint.Done, "candidate", "add", "--file", edit, "--rationale", "say it plainly")
	l.put(note, allSecrets()+"\n", 0o644)
	l.loopd(hint.Usage, "candidate", "add", "--file", edit, "--rationale", "say more")
	spool, err := filepath.Glob(filepath.Join(l.state, "loopd", "adr-*", "spool"))
	if err != nil || len(spool) != 1 {
		t.Fatalf("spool: %v, %v", spool, err)
	}
	l.put(filepath.Join(spool[0], "by-hand.yaml"), "rationale: say more\nfiles:\n  hooks/session-start-note.md: |\n    "+strings.ReplaceAll(allSecrets(), "\n", "\n    ")+"\n", 0o600)

	dump := l.crash("run", "--sessions", "40", "--seed", "3", "--i-accept-no-isolation")
	if !bytes.Contains(dump, []byte("goroutine ")) {
		t.Errorf("no dump of a crash:\n%s", dump)
	}
	l.said.Write(dump)
	l.loopd(hint.Done, "run", "--sessions", "40", "--seed", "3", "--i-accept-no-isolation")
	runs := filepath.Join(l.dir, "runs")
	l.loopd(hint.Failed, "scenario", "run", "W1", "haiku", runs, "--i-accept-no-isolation", "--json") // its judge answers with a secret
	l.api.mu.Lock()
	l.api.refuses = true
	l.api.mu.Unlock()
	l.loopd(hint.Failed, "scenario", "run", "R3", "haiku", runs, "--i-accept-no-isolation", "--results", filepath.Join(l.dir, "runs", "results.tsv"))
	for _, args := range [][]string{
		{"report"}, {"report", "--json"}, {"report", "c001"}, {"report", "c001", "--json"}, {"status"}, {"status", "--json"}, {"candidate", "list"},
		{"candidate", "list", "--json"}, {"candidate", "show", "c001"}, {"verify", "--deep", "--json"}, {"config"}, {"config", "--json"},
		{"report", "export"}, {"verify", "rescore", "--json"},
	} {
		l.loopd(hint.Done, args...)
	}

	// The session did see them, and never the user's own key.
	seen := leaked(l.api.asked)
	if len(seen) != len(plantedSecrets()) || bytes.Contains(l.api.asked, []byte(ownKey)) {
		t.Errorf("the API was told %q of %d, want all but the user's own key", seen, len(plantedSecrets()))
	}
	sinks := l.sinks(l.state, runs, l.plugin)
	wantSinks(t, sinks, "transcript.jsonl", "stderr.txt", "changes.json", "launch.json", "judge.json", "ledger.db", "results.tsv", "loop-results.tsv",
		"campaign.json", "campaign.md", "c001.md", "repo.git objects", "adr/.git objects", "adr/.git references", "by-hand.yaml.refused")
	sinks["what loopd printed"] = l.said.Bytes()
	redacted := 0
	for name, data := range sinks {
		if got := leaked(data); len(got) > 0 {
			t.Errorf("%s holds %q", name, got)
		}
		redacted += bytes.Count(data, []byte("[redacted:"))
	}
	if redacted < 10*len(plantedSecrets()) {
		t.Errorf("only %d secrets were taken out", redacted)
	}
	t.Logf("%d sinks, %d secrets taken out", len(sinks), redacted)
}

// TestASinkThatLeaksIsSeen: the search finds a secret in a new file, in a commit,
// in base64 and in a ledger.
func TestASinkThatLeaksIsSeen(t *testing.T) {
	t.Parallel()
	l := &leaky{t: t, dir: t.TempDir()}
	l.put(filepath.Join(l.dir, "new.bin"), "\x00\x01"+plantedSecrets()["jwt"].text, 0o644)
	l.put(filepath.Join(l.dir, "changes.json"), `{"data":"Z2hwXw`+"==\"}", 0o644)
	l.git(l.dir, "init", "--quiet")
	l.git(l.dir, "commit", "--quiet", "--allow-empty", "--message", "key "+plantedSecrets()["stripe"].text)
	found := make(map[string]bool)
	for _, data := range l.sinks(l.dir) {
		for _, name := range leaked(data) {
			found[name] = true
		}
	}
	if !found["jwt"] || !found["stripe"] || len(found) != 2 {
		t.Errorf("found %v", found)
	}
	if got := leaked([]byte(`{"data":"` + "eCA=" + `"}`)); len(got) != 0 {
		t.Errorf("found %q where nothing is", got)
	}
}
