package isolate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loopd/harness"
	"loopd/internal/testenv"
)

// users are who a session may be: root's sessions run as root or as nobody.
func users() []int {
	if os.Geteuid() == 0 {
		return []int{0, 65534}
	}
	return []int{0}
}

// inside runs a shell script in a box and returns what it printed.
func inside(t testing.TB, w Sandbox, uid int, e Session, script string) string {
	t.Helper()
	if e.Agent == "" {
		e.Agent = "/bin/sh"
	}
	e.Args = []string{"-c", script}
	e.Env = append(e.Env, "PATH="+os.Getenv("PATH"), "HOME="+e.Box.Home)
	wrapped, err := w.Wrap(e)
	testenv.Must(t, err)
	defer wrapped.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, wrapped.Path, wrapped.Args...)
	cmd.Env, cmd.Dir, cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = wrapped.Env, "/", wrapped.Files, &out, &out
	cmd.SysProcAttr = probeAttr(ProbeOptions{UID: uid, GID: uid})
	if err := cmd.Run(); err != nil {
		t.Fatalf("run inside: %v\n%s", err, out.String())
	}
	return out.String()
}

// state hashes what there is below a directory, by what it is and holds.
func state(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		what := fmt.Sprint(info.Mode(), st.Uid, st.Gid, st.Nlink, info.ModTime())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			what += string(data)
		}
		out[p] = what
		return nil
	})
	testenv.Must(t, err)
	return out
}

// treasure is what a session is not to reach: files of every kind loopd keeps,
// readable to all so that only the walls protect them.
func treasure(t *testing.T) string {
	t.Helper()
	// Not below /tmp: that is the session's own inside, where it may make any
	// name it likes.
	dir, err := os.MkdirTemp("/var/tmp", "")
	testenv.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, name := range []string{"seal/checker.yaml", "seal/rubric.md", "fixture/app.rb", "ledger.db", "results.tsv", "plugin/SKILL.md", "home/.profile"} {
		p := filepath.Join(dir, name)
		testenv.Must(t, os.MkdirAll(filepath.Dir(p), 0o777))
		testenv.Must(t, os.WriteFile(p, []byte("canary-51c9e0\n"), 0o666))
		for _, open := range []string{p, filepath.Dir(p)} {
			testenv.Must(t, os.Chmod(open, 0o777))
		}
	}
	return dir
}

// writes are attacks on the files outside, the box of another session, the
// plugin and the system; each prints its name when the shell says it worked.
func writes(treasure string, own, other *Box) map[string]string {
	f, d := treasure+"/ledger.db", treasure+"/seal"
	return map[string]string{
		"write":                  "echo x > " + f,
		"append":                 "echo x >> " + f,
		"truncate":               "truncate -s 0 " + f,
		"create":                 "touch " + d + "/new",
		"remove":                 "rm " + f,
		"remove all":             "rm -r " + d,
		"rename":                 "mv " + f + " " + f + ".old",
		"rename directory":       "mv " + d + " " + d + ".old",
		"replace":                "cp /etc/passwd seal && mv seal " + f,
		"chmod":                  "chmod 000 " + f,
		"chmod directory":        "chmod 000 " + d,
		"chown":                  "chown 1000 " + f,
		"touch":                  "touch -d 2001-01-01 " + f,
		"hard link out":          "ln README.md " + d + "/linked",
		"hard link in":           "ln " + f + " linked",
		"write through link":     "ln -sf " + f + " soft && echo x > soft",
		"copy over link":         "ln -sfn " + d + " away && cp README.md away/",
		"mkfifo":                 "mkfifo " + d + "/fifo",
		"dd":                     "dd if=/dev/zero of=" + f + " bs=1 count=1 conv=notrunc",
		"sed in place":           "sed -i s/canary/x/ " + f,
		"git":                    "git init " + d,
		"tar":                    "tar -C " + d + " -xf /dev/null && touch " + d + "/t",
		"parent":                 "echo x > ../../../../../../.." + f,
		"root of init":           "echo x > /proc/1/root" + f,
		"directory of init":      "echo x > /proc/1/cwd/../../.." + f,
		"results":                "echo x >> " + treasure + "/results.tsv",
		"plugin source":          "echo x >> " + treasure + "/plugin/SKILL.md",
		"real home":              "echo x >> " + treasure + "/home/.profile",
		"root's home":            "touch /root/x",
		"home directories":       "touch /home/x",
		"plugin copy":            "echo x > " + own.Plugin + "/.claude-plugin/plugin.json",
		"plugin copy, new file":  "touch " + own.Plugin + "/new",
		"plugin copy, rename":    "mv " + own.Plugin + " " + own.Plugin + ".old",
		"plugin copy, chmod":     "chmod -R 777 " + own.Plugin,
		"own box away":           "mv " + own.Work + " " + own.Root + "/moved",
		"project away":           "rmdir " + own.Work,
		"other session":          "echo x > " + other.Work + "/README.md",
		"other session's home":   "touch " + other.Home + "/x",
		"agent":                  "echo x > /opt/claude/claude",
		"agent away":             "mv /opt/claude/claude /opt/claude/old",
		"system":                 "touch /usr/bin/x",
		"accounts":               "echo x >> /etc/passwd",
		"new at the top":         "touch /x",
		"core pattern":           "cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern",
		"kernel setting":         "echo 1 > /proc/sys/kernel/panic",
		"drop caches":            "echo 1 > /proc/sys/vm/drop_caches",
		"remount system":         "mount -o remount,rw,bind /usr",
		"remount plugin":         "mount -o remount,rw,bind " + own.Plugin,
		"remount in new mounts":  "unshare -m mount -o remount,rw,bind " + own.Plugin,
		"remount in new user":    "unshare -Urm mount -o remount,rw,bind " + own.Plugin,
		"unmount":                "umount " + own.Plugin,
		"unmount in new user":    "unshare -Urm umount -l " + own.Plugin,
		"mount":                  "mount -t tmpfs none /mnt || mount --bind /tmp /opt",
		"new bubblewrap":         "bwrap --bind / / --proc /proc touch " + own.Plugin + "/x",
		"device":                 "mknod disk b 254 0 && dd if=disk of=/dev/null count=1",
		"namespaces of init":     "nsenter -t 1 -m touch " + own.Plugin + "/x",
		"chroot":                 "chroot /proc/1/root touch " + own.Plugin + "/x",
		"become root":            "setpriv --reuid 0 true || su -c true || sudo -n true",
		"kill a process outside": "kill -0 " + fmt.Sprint(os.Getpid()),
	}
}

func TestNothingOutsideCanBeChanged(t *testing.T) {
	t.Parallel()
	for i, uid := range append(users(), users()...) {
		w := wallsOrSkip(t, uid)
		w.nested = i >= len(users()) // and with a bwrap that allows more namespaces
		safe, own, other := treasure(t), wallBox(t, uid), wallBox(t, uid)
		attacks := writes(safe, own, other)
		if len(attacks) < 30 {
			t.Fatalf("%d attacks, want at least 30", len(attacks))
		}
		before := []map[string]string{state(t, safe), state(t, own.Plugin), state(t, other.Root)}
		var script strings.Builder
		for _, name := range slices.Sorted(maps.Keys(attacks)) {
			attack := attacks[name]
			fmt.Fprintf(&script, "cd %s && ( %s ) >/dev/null 2>&1 </dev/null && echo %q; n=$((n+1))\n", own.Work, attack, "worked: "+name)
		}
		script.WriteString("cd lib && echo $n > done\n") // it can write where it should
		if got := inside(t, w, uid, Session{Box: own}, script.String()); got != "" {
			t.Errorf("uid %d, more namespaces %v: attacks that worked:\n%s", uid, w.nested, got)
		}
		if n, err := os.ReadFile(filepath.Join(own.Work, "lib/done")); string(n) != fmt.Sprintln(len(attacks)) {
			t.Errorf("uid %d: %q attacks were made, %v, want %d", uid, n, err, len(attacks))
		}
		after := []map[string]string{state(t, safe), state(t, own.Plugin), state(t, other.Root)}
		testenv.Same(t, fmt.Sprintf("uid %d: changed outside", uid), before, after)
	}
}

// The same attacks without walls do work, or the test above shows nothing.
func TestAttacksWorkWithoutWalls(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"write", "chmod", "hard link out", "write through link", "plugin copy", "other session", "parent", "kill a process outside"} {
		own := wallBox(t, 0)
		cmd := exec.Command("/bin/sh", "-c", writes(treasure(t), own, wallBox(t, 0))[name])
		cmd.Dir = own.Work
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func TestNothingOutsideCanBeRead(t *testing.T) {
	t.Setenv("CANARY", "canary-51c9e0")
	for _, uid := range users() {
		w := wallsOrSkip(t, uid)
		safe, own, other := treasure(t), wallBox(t, uid), wallBox(t, uid)
		testenv.Must(t, os.WriteFile(filepath.Join(other.Work, "secret"), []byte("canary-51c9e0"), 0o666))
		held, err := os.Open(filepath.Join(safe, "ledger.db")) // a descriptor the session must not inherit
		testenv.Must(t, err)
		defer held.Close()
		script := strings.NewReplacer("$SAFE", safe, "$OTHER", other.Root).Replace(`
			cat $SAFE/seal/* $SAFE/ledger.db $OTHER/*/secret /etc/shadow /root/.* /proc/*/environ
			cat /proc/*/root$SAFE/ledger.db /proc/*/cwd/../../..$SAFE/ledger.db
			for f in /proc/*/fd/*; do [ -f $f ] && cat $f; done
			find / -xdev -type f -size -100k -newermt '2 minutes ago' ! -path '/proc/*' -exec cat {} +
			ls -a $SAFE $SAFE/.. $OTHER $OTHER/.. /home /root /var /sys /run
			env; set; dmesg; cat /proc/keys /proc/kmsg /proc/kcore </dev/null | head -c 1000
			echo end of script`)
		got := inside(t, w, uid, Session{Box: own}, "{ "+script+"\n} 2>&1")
		if strings.Contains(got, "canary-51c9e0") || !strings.Contains(got, "end of script") {
			t.Errorf("uid %d: the canary was read:\n%s", uid, got)
		}
	}
}

func TestLoopdIsNotReadableInside(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	testenv.Must(t, err)
	own := wallBox(t, 0)
	w := wallsOrSkip(t, 0)
	// Shown by mistake, and hidden again.
	e := Session{Box: own, ReadOnly: []string{filepath.Dir(self)}}
	script := `for f in /proc/[0-9]*/exe /proc/[0-9]*/fd/*; do
		readlink $f; [ -f $f ] || continue; grep -sqa TestLoopdIsNotReadable "$f" && echo "found: $f"; done
		cat "` + self + `" 2>/dev/null | head -c 100; echo; tr '\0' ' ' </proc/1/cmdline`
	got := inside(t, w, 0, e, script)
	for _, bad := range []string{"ELF", "found:", "memfd", filepath.Base(self)} {
		if strings.Contains(got, bad) {
			t.Errorf("found %q inside:\n%s", bad, got)
		}
	}
	if want := regexp.MustCompile(`\n\S*bwrap --args \d+ -- /proc/self/fd/\d+ start \d+ $`); !want.MatchString(got) {
		t.Errorf("the first process's command line says more than numbers:\n%s", got)
	}
}

func TestHiddenPlaces(t *testing.T) {
	t.Parallel()
	w, safe, own := wallsOrSkip(t, 0), treasure(t), wallBox(t, 0)
	e := Session{Box: own, ReadOnly: []string{safe}, Hidden: []string{safe + "/seal", safe + "/ledger.db", safe + "/absent"}}
	got := inside(t, w, 0, e, "cd "+safe+"; ls seal; cat ledger.db 2>/dev/null; touch seal/x 2>/dev/null && echo written; cat results.tsv; echo x 2>/dev/null >>results.tsv && echo written; true")
	if got != "canary-51c9e0\n" {
		t.Errorf("got %q, want the one file that is shown, read-only", got)
	}
	if got := inside(t, w, 0, Session{Box: own, ReadOnly: []string{safe}}, "cat "+safe+"/ledger.db"); got != "canary-51c9e0\n" {
		t.Errorf("not hidden: got %q", got)
	}
}

// No name inside says what it is all for.
func TestInsideIsNeutral(t *testing.T) {
	t.Parallel()
	telling := regexp.MustCompile(`(?i)\b(loopd|eval|os-adr|os-adr-eval|rubric|IS_SANDBOX|sandbox)\b`)
	for _, uid := range users() {
		w, own := wallsOrSkip(t, uid), wallBox(t, uid)
		got := inside(t, w, uid, Session{Box: own}, `pwd; hostname; id; env; cat /etc/passwd /etc/group /etc/hosts
			cat /proc/*/cmdline /proc/*/environ /proc/*/comm /proc/*/mountinfo /proc/*/cgroup 2>/dev/null | tr '\0' '\n'
			readlink /proc/*/exe /proc/*/cwd /proc/*/fd/* 2>/dev/null
			ls -a / /etc /opt /tmp "$HOME" "$HOME/.."; git log --all --format=fuller; echo "user $(id -un)"`)
		if hits := telling.FindAllString(got, -1); hits != nil {
			t.Errorf("uid %d: inside says %q:\n%s", uid, hits, got)
		}
		for _, want := range []string{own.Work + "\nlocalhost\nuid=1000(user) gid=1000(user)", "user user\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("uid %d: got\n%s\nwant %q in it", uid, got, want)
			}
		}
	}
}

// A bind's source shows in the table of mounts, so the agent gets another name.
func TestAgentsPlaceIsNotShown(t *testing.T) {
	t.Parallel()
	shell, err := os.ReadFile("/bin/sh")
	testenv.Must(t, err)
	own := wallBox(t, 0)
	agent := filepath.Join(filepath.Dir(own.Root), "loopd", "claude")
	testenv.Must(t, errors.Join(os.Mkdir(filepath.Dir(agent), 0o755), os.WriteFile(agent, shell, 0o755)))
	got := inside(t, wallsOrSkip(t, 0), 0, Session{Box: own, Agent: agent}, "cat /proc/self/mountinfo; readlink /proc/$$/exe; grep Cap /proc/self/status")
	if strings.Contains(got, "loopd") || !strings.Contains(got, "\n"+agentInside+"\n") {
		t.Errorf("got\n%s\nwant %s and not where it comes from", got, agentInside)
	}
	if n := strings.Count(got, ":\t0000000000000000\n"); n != 5 {
		t.Errorf("%d of 5 sets of capabilities are empty:\n%s", n, got)
	}
}

func TestHistoryInsideIsOneCommit(t *testing.T) {
	t.Parallel()
	for _, uid := range users() {
		w, own := wallsOrSkip(t, uid), wallBox(t, uid)
		got := inside(t, w, uid, Session{Box: own}, `git log --all --format='%an %s'; git reflog --all; git stash list; git remote
			git fsck --unreachable --no-progress 2>&1; cat .git/packed-refs .git/objects/info/alternates .git/logs/HEAD 2>/dev/null; git status --porcelain`)
		if want := "Alex Miller Import project\n"; got != want {
			t.Errorf("uid %d: got %q, want %q", uid, got, want)
		}
	}
}

// A session that writes wherever it can leaves nothing to the next.
func TestNextSessionStartsTheSame(t *testing.T) {
	t.Parallel()
	uid := users()[len(users())-1]
	w := wallsOrSkip(t, uid)
	look := `cd / && find . -xdev ! -path './proc/*' ! -path './dev/*' ! -path './usr/*' -printf '%P %y %m %s\n' 2>/dev/null | sort
		for d in "$HOME" "$HOME"/../*; do (cd $d && find . -printf '%P %y %m %s %l\n' && find . -type f -exec sha256sum {} +); done`
	names := regexp.MustCompile(`\b[a-z2-7]{18}\b|\b[a-z2-7]{10}\b|\b\d{6,}\b`)
	o, first := options(t, testenv.OpenDir(t)), ""
	o.UID, o.GID = uid, uid
	for i := range 5 {
		own := newBox(t, o) // its own names differ and nothing else
		got := inside(t, w, uid, Session{Box: own}, look)
		lines := strings.Split(names.ReplaceAllString(got, "NAME"), "\n")
		slices.Sort(lines)
		text := strings.Join(lines, "\n")
		if i == 0 {
			first = text
		} else if diff := cmp.Diff(first, text); diff != "" {
			t.Fatalf("session %d starts with something else (-first +this):\n%s", i, diff)
		}
		inside(t, w, uid, Session{Box: own}, `for d in /tmp /var/tmp /dev/shm /run "$HOME" "$HOME"/../* .; do
			mkdir -p $d/.claude/commands; echo trap > $d/.claude/commands/trap.md; echo trap > $d/CLAUDE.md; done 2>/dev/null; true`)
		testenv.Must(t, own.Remove())
	}
}

func TestNoNetwork(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	defer l.Close()
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	testenv.Must(t, err)
	defer u.Close()
	abstract, err := net.Listen("unix", "@"+filepath.Base(testenv.OpenDir(t)))
	testenv.Must(t, err)
	defer abstract.Close()
	bash := findProgram("/usr/bin:/bin", "bash")
	if bash == "" {
		t.Skip("the shell that opens connections is missing")
	}
	port := l.Addr().(*net.TCPAddr).Port
	script := fmt.Sprintf(`%s -c 'for to in 127.0.0.1/%d 192.0.2.1/80 169.254.169.254/80 1.1.1.1/53; do
			(exec 3<>/dev/tcp/$to) 2>/dev/null && echo "reached $to"; (echo x >/dev/udp/$to) 2>/dev/null && echo "sent to $to"; done'
		tail -n +3 /proc/net/dev | cut -d: -f1; tail -n +2 /proc/net/route; tail -n +2 /proc/net/unix`, bash, port)
	for _, uid := range users() {
		w, own := wallsOrSkip(t, uid), wallBox(t, uid)
		got := inside(t, w, uid, Session{Box: own}, script)
		// A datagram to loopback is accepted by the session's own loopback.
		if want := fmt.Sprintf("sent to 127.0.0.1/%d\n    lo\n", port); got != want {
			t.Errorf("uid %d: got %q, want %q: its own loopback and nothing else", uid, got, want)
		}
	}
	_ = u.SetReadDeadline(time.Now())
	if n, _, err := u.ReadFrom(make([]byte, 8)); err == nil {
		t.Errorf("%d bytes came out", n)
	}
	_ = l.(*net.TCPListener).SetDeadline(time.Now())
	if _, err := l.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("accept: got %v, want nobody there", err)
	}
}

func TestPathInside(t *testing.T) {
	t.Parallel()
	w := Sandbox{backend: Bwrap, program: "/bin/bwrap", visible: []string{"/usr", "/bin"}}
	shown := t.TempDir()
	for _, tt := range []struct{ in, want string }{
		{"/root/.cargo/bin:/usr/bin:/usrx:/bin:relative::" + shown, "/usr/bin:/bin:" + shown},
		{"/root/bin", "/usr/local/bin:/usr/bin:/bin"},
		{"/usr/bin:/usr/absent", "/usr/bin"},
	} {
		got := w.environ(Session{Env: []string{"A=1", "PATH=" + tt.in, "XPATH=/root"}, ReadOnly: []string{shown}})
		if want := []string{"A=1", "PATH=" + tt.want, "XPATH=/root"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func BenchmarkSession(b *testing.B) {
	g, err := NewGitTemplate(b.Context(), harness.Tree{"a": {Mode: 0o644}})
	testenv.Must(b, err)
	box, err := New(b.Context(), Options{Fixture: harness.Tree{"a": {Mode: 0o644}}, Git: g, PluginName: "letters"})
	testenv.Must(b, err)
	defer box.Remove()
	for _, backend := range []Backend{Bwrap, Landlock} {
		b.Run(string(backend), func(b *testing.B) {
			w := rungOrSkip(b, backend, 0)
			for b.Loop() {
				inside(b, w, 0, Session{Box: box}, "exit 0")
			}
		})
	}
}
