package candidates

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// patched is a patch of one file with its extended header.
func patched(header, old, next string) string {
	return "diff --git " + header + "\n--- " + old + "\n+++ " + next + "\n@@ -1 +1 @@\n-[book] There is a book.\n+[book] Here is a book.\n"
}

// escapes are ways to touch something else than the text of the Surface: other
// names of its files, other files, and other things than text.
func escapes() map[string]Candidate {
	cases := make(map[string]Candidate)
	for _, path := range []string{
		"../" + notePath, "hooks/../" + notePath, "./" + notePath, "/" + notePath, "//" + notePath, notePath + "/", notePath + "/.", notePath + " ", " " + notePath,
		notePath + ".", notePath + "\x00", notePath + "\n", notePath + "\r", `hooks\note.md`, `C:\hooks\note.md`, "C:" + notePath, "C:/" + notePath, `\\?\C:\note.md`,
		"Hooks/note.md", "hooks/NOTE.md", "hooks/note.md:stream", "hooks//note.md", "hooks/./note.md", "%68ooks/note.md", "hooks/note.md?x", "~/" + notePath,
		"skills/keep-notes/SKILL.md\u200b", "skills/keep\u2010notes/SKILL.md", "ski\u006c\u0300ls/keep/SKILL.md", "skills/k\u0435ep/SKILL.md", "skills/keep/skill.md", "skills/SKILL.md",
		"skills/a/b/SKILL.md", "skills/c/SKILL.md/x", "skills/new/SKILL.md", "hooks/print", ".git/config", ".GIT/config", ".git /config", "git~1/config", "CON", "aux.md",
		".claude/settings.json", ".claude-plugin/plugin.json", "CLAUDE.md", "AGENTS.md", "loopd.yaml", strings.Repeat("a/", 2048) + "x", "",
	} {
		cases[fmt.Sprintf("path %.40q", path)] = rewrite(path, "[book] Here is a book.\n")
	}
	for name, text := range map[string]string{
		"binary": "[book]\x00\x01", "not UTF-8": "[book] \xfe\n", "carriage returns": "[book] Here is a book.\r\n", "only carriage returns": "[book] Here is a book.\r",
		"empty": "", "white space": "\n\n[book]   There is a book.\n", "the same": "[book] There is a book.\n", "huge": "[book] " + strings.Repeat("words ", 12000),
	} {
		cases["text "+name] = rewrite(notePath, text)
	}
	cases["line feeds alone"] = rewrite("skills/keep-crlf/SKILL.md", "---\nname: keep-crlf\ndescription: Keep it well.\n---\nKeep.\n")
	cases["one line feed alone"] = rewrite("skills/keep-crlf/SKILL.md", "---\r\nname: keep-crlf\r\ndescription: Keep it well.\r\n---\r\nKeep.\nMore.\r\n")
	return cases
}

// patches that do more than change text, each refused before there is an edit.
func escapingPatches() map[string]string {
	same := "a/" + notePath + " b/" + notePath
	return map[string]string{
		"mode":         patched(same+"\nold mode 100644\nnew mode 100755", "a/"+notePath, "b/"+notePath),
		"symlink":      "diff --git " + same + "\ndeleted file mode 100644\n--- a/" + notePath + "\n+++ /dev/null\n@@ -1 +0,0 @@\n-[book] There is a book.\ndiff --git " + same + "\nnew file mode 120000\n--- /dev/null\n+++ b/" + notePath + "\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n",
		"submodule":    "diff --git a/x b/x\nnew file mode 160000\nindex 0000000..1111111\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+Subproject commit 1111111111111111111111111111111111111111\n",
		"rename":       "diff --git a/" + notePath + " b/hooks/other.md\nsimilarity index 100%\nrename from " + notePath + "\nrename to hooks/other.md\n",
		"copy":         "diff --git a/" + notePath + " b/hooks/other.md\nsimilarity index 100%\ncopy from " + notePath + "\ncopy to hooks/other.md\n",
		"new file":     "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n",
		"deletion":     "diff --git " + same + "\ndeleted file mode 100644\n--- a/" + notePath + "\n+++ /dev/null\n@@ -1 +0,0 @@\n-[book] There is a book.\n",
		"binary patch": "diff --git " + same + "\nindex 1111111..2222222 100644\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\n",
		"two names":    patched(same, "a/"+notePath, "b/hooks/print"),
	}
}

// TestNothingButWordingCostsASession holds that whatever touches anything else is refused: by the
// patch reader, by Validate or by the lint.
func TestNothingButWordingCostsASession(t *testing.T) {
	t.Parallel()
	base := startTree()
	base["skills/keep-crlf/SKILL.md"] = []byte("---\r\nname: keep-crlf\r\ndescription: Keep it.\r\n---\r\nKeep.\r\n")
	surface := NewSurface(base, notePath)
	n := 0
	for name, c := range escapes() {
		n++
		if c.Validate() == nil && len(Lint(LintInput{Surface: surface, Base: base, Candidate: c})) == 0 {
			t.Errorf("%s: nothing refuses it", name)
		}
	}
	for name, patch := range escapingPatches() {
		n++
		edits, err := ParsePatch(patch)
		if err == nil && len(Lint(LintInput{Surface: surface, Base: base, Candidate: Candidate{Edits: edits}})) == 0 {
			t.Errorf("patch, %s: nothing refuses it", name)
		}
	}
	if n < 50 {
		t.Errorf("got %d cases, want at least 50", n)
	}
	good := rewrite("skills/keep-crlf/SKILL.md", "---\r\nname: keep-crlf\r\ndescription: Keep it well.\r\n---\r\nKeep.\r\nMore.\r\n")
	if found := Lint(LintInput{Surface: surface, Base: base, Candidate: good}); len(found) > 0 {
		t.Errorf("a file that keeps its line ends: got %v", found)
	}
}

// FuzzPath holds that only the exact paths of the Surface can be edited.
func FuzzPath(f *testing.F) {
	for _, c := range escapes() {
		f.Add(c.Edits[0].Path)
	}
	f.Add(notePath)
	surface, base := startSurface(), startTree()
	f.Fuzz(func(t *testing.T, path string) {
		next, err := surface.Apply(base, rewrite(path, "[book] Fuzz.\n").Edits)
		if known := slices.Contains(surface.Paths, path); known != (err == nil) {
			t.Errorf("%q: on the Surface %v, got %v", path, known, err)
		}
		if err == nil && len(surface.Check(base, next)) > 0 {
			t.Errorf("%q left the Surface", path)
		}
	})
}

// bombs are front matters made to cost time or memory.
func bombs() map[string]string {
	return map[string]string{
		"aliases":    "a: &a [x,x,x,x,x,x,x,x]\n" + strings.Repeat("b: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n", 30),
		"merge keys": "a: &a {x: 1}\n" + strings.Repeat("b: {<<: *a}\n", 100),
		"deep lists": "a: " + strings.Repeat("[", 4000) + strings.Repeat("]", 4000) + "\n",
		"deep maps":  "a: " + strings.Repeat("{a: ", 1500) + "x" + strings.Repeat("}", 1500) + "\n",
		"indents":    deepIndents(90),
		"duplicates": strings.Repeat("description: d\n", 500),
		"questions":  strings.Repeat("? ", 4000) + "\n",
		"quotes":     "a: \"" + strings.Repeat(`\"`, 4000) + "\n",
		"long":       "a: " + strings.Repeat("x", 60<<10) + "\n",
		"tags":       "a: !!binary " + strings.Repeat("A", 8000) + "\n",
		"blocks":     "a: |\n" + strings.Repeat("  x\n", 2000),
		"comments":   strings.Repeat("# - [ {\n", 1000),
	}
}

func deepIndents(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

// A front matter made to cost time is refused at once, as a lint and not as a score.
func TestBombsAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for name, front := range bombs() {
		c := rewrite(skillPath, head(named+"description: d\n"+front))
		fastest := time.Hour
		var found []Finding
		for range 3 { // the machine may be busy with something else
			began := time.Now()
			found = lintStart(c)
			fastest = min(fastest, time.Since(began))
		}
		if !slices.Contains(Classes(found), FrontMatter) && !slices.Contains(Classes(found), TooLarge) {
			t.Errorf("%s: got %v, want it refused", name, found)
		}
		if fastest > 100*time.Millisecond {
			t.Errorf("%s: took %v, want less than 100 ms", name, fastest)
		}
	}
}
