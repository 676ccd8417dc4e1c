package isolate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"loopd/internal/testenv"
)

// rungOrSkip probes a backend; where LOOPD_REQUIRE names it, its absence fails.
func rungOrSkip(t testing.TB, backend Backend, uid int) Sandbox {
	t.Helper()
	if backend == None {
		return Sandbox{}
	}
	w, err := Probe(t.Context(), ProbeOptions{Backend: backend, Path: os.Getenv("PATH"), UID: uid, GID: uid})
	testenv.Need(t, string(backend), err)
	return w
}

// world is what lies and runs outside a session: files that only walls protect
// from the session's user, a process of that user, and listeners.
type world struct {
	safe        string
	own, other  *Box
	pid         int
	tcp, udp    int
	path, name  string // of a socket file, and of an abstract socket
	gatewayPort int
}

func newWorld(t *testing.T, uid int) world {
	t.Helper()
	w := world{safe: treasure(t), own: wallBox(t, uid), other: wallBox(t, uid)}
	if os.Geteuid() == 0 && uid != 0 {
		err := filepath.WalkDir(w.safe, func(p string, _ os.DirEntry, err error) error { return errors.Join(err, os.Chown(p, uid, uid)) })
		testenv.Must(t, err)
	}
	testenv.Must(t, os.WriteFile(filepath.Join(w.other.Work, "secret"), []byte("canary-51c9e0\n"), 0o666))
	cmd := exec.Command("/bin/sleep", "611.5190")
	cmd.Env, cmd.SysProcAttr = []string{"CANARY=canary-51c9e0"}, probeAttr(ProbeOptions{UID: uid, GID: uid})
	testenv.Must(t, cmd.Start())
	w.pid = cmd.Process.Pid
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	w.path, w.name = filepath.Join(w.safe, "socket"), "name-"+filepath.Base(w.safe)
	w.tcp = greet(t, "tcp", "127.0.0.1:0").(*net.TCPAddr).Port
	w.gatewayPort = greet(t, "tcp", "127.0.0.1:0").(*net.TCPAddr).Port
	greet(t, "unix", w.path)
	greet(t, "unix", "@"+w.name)
	w.udp = echo(t)
	testenv.Must(t, os.Chmod(w.path, 0o777))
	return w
}

// greet says hello to who connects.
func greet(t *testing.T, network, address string) net.Addr {
	t.Helper()
	l, err := net.Listen(network, address)
	testenv.Must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "hello\n")
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr()
}

// echo sends every datagram back.
func echo(t *testing.T) int {
	t.Helper()
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	testenv.Must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 64)
		for {
			n, from, err := u.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = u.WriteTo(buf[:n], from)
		}
	}()
	t.Cleanup(func() { u.Close(); <-done })
	return u.LocalAddr().(*net.UDPAddr).Port
}

// dial is a script that connects and hears the greeting; protocol 262 is
// multipath TCP.
func dial(domain, address string, protocol int) string {
	return fmt.Sprintf(`perl -MSocket -e '$SIG{ALRM} = sub { exit 5 }; alarm 5; socket(S, %s, SOCK_STREAM, %d) or exit 2; connect(S, %s) or exit 3; exit(<S> =~ /hello/ ? 0 : 4)'`, domain, protocol, address)
}

// operations are what a session may try, by the rows of SECURITY.md's table;
// each attack exits 0 when it worked.
func (w world) operations() map[string][]string {
	f, d := w.safe+"/ledger.db", w.safe+"/seal"
	port := func(n int) string { return fmt.Sprintf(`pack_sockaddr_in(%d, inet_aton("127.0.0.1"))`, n) }
	proc := fmt.Sprintf("/proc/%d", w.pid)
	return map[string][]string{
		"write to a file outside": {
			"echo x > " + f, "echo x >> " + f, "truncate -s 1 " + f, "dd if=/dev/zero of=" + f + " bs=1 count=1 conv=notrunc",
			"sed -i s/canary/canary/ " + f, "ln -sf " + f + " soft && echo x > soft", "cp lib/post/queue.rb " + w.safe + "/plugin/SKILL.md",
			"echo x >> " + w.safe + "/home/.profile", "echo x > " + w.other.Work + "/README.md", "echo x > ../../../../../../.." + f,
		},
		"make, remove, rename or link a file outside": {
			"touch " + d + "/new", "mkdir " + d + "/dir", "mkfifo " + d + "/fifo", "ln -s x " + d + "/sym", "mv " + d + "/rubric.md " + d + "/old",
			"mv README.md " + d + "/moved", "rm " + w.safe + "/results.tsv", "ln " + w.safe + "/fixture/app.rb linked", "ln lib/post/queue.rb " + d + "/linked",
			"touch " + w.other.Home + "/x", "rm " + w.other.Work + "/.gitignore",
		},
		"change the plugin's copy": {
			"echo x > " + w.own.Plugin + "/.claude-plugin/plugin.json", "touch " + w.own.Plugin + "/new", "mv " + w.own.Plugin + "/.claude-plugin " + w.own.Plugin + "/old",
		},
		"change the mode of a file outside":                   {"chmod 606 " + f, "chmod 755 " + d, "chmod 700 " + w.own.Plugin},
		"change the times of a file outside":                  {"test -e " + f + " && touch -c -d 2001-01-01 " + f},
		"see that a file outside exists, and how large it is": {"test -s " + f, "stat " + d, "stat " + w.other.Work + "/secret"},
		"read a file outside":                                 {"grep canary " + w.safe + "/home/.profile", "grep canary " + w.other.Work + "/secret", "grep root " + proc + "/root/etc/shadow || grep canary " + proc + "/root" + w.safe + "/home/.profile"},
		"list a directory outside":                            {"ls " + w.safe, "ls " + w.other.Work, "ls " + w.other.Home + "/"},
		"see what other programs run":                         {"tr '\\0' ' ' < " + proc + "/cmdline | grep 611.5190", "ls " + proc + "/fd/"},
		"read the environment, memory or files of another program": {
			"grep -a canary " + proc + "/environ", "readlink " + proc + "/fd/0", "readlink " + proc + "/cwd", "head -c 1 " + proc + "/maps | grep .",
		},
		"signal another program":             {fmt.Sprintf("kill -0 %d", w.pid), fmt.Sprintf("kill -CONT %d", w.pid)},
		"connect to another TCP port":        {dial("AF_INET", port(w.tcp), 0)},
		"connect by multipath TCP":           {dial("AF_INET", port(w.tcp), 262)},
		"send and receive UDP":               {fmt.Sprintf(`perl -MSocket -e '$SIG{ALRM} = sub { exit 5 }; alarm 2; socket(S, AF_INET, SOCK_DGRAM, 0) or exit 2; send(S, "hello", 0, %s) or exit 3; recv(S, $b, 9, 0); exit($b eq "hello" ? 0 : 4)'`, port(w.udp))},
		"connect to a socket without a file": {dial("AF_UNIX", `pack_sockaddr_un("\0`+w.name+`")`, 0)},
		"connect to a socket file outside":   {dial("AF_UNIX", `pack_sockaddr_un("`+w.path+`")`, 0)},
		"change the kernel's settings":       {"cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern", "echo 0 > /proc/sys/vm/drop_caches"},
		"mount, or mount again writable": {
			"mount -t tmpfs none lib", "mount --bind . lib", "unshare -Urm mount -t tmpfs none lib", "unshare -Urm mount -o remount,rw,bind " + w.own.Plugin,
		},
	}
}

// forReal says of an operation that a test may not do it to the machine.
func forReal(operation string) bool {
	return strings.HasPrefix(operation, "mount") || strings.HasPrefix(operation, "change the kernel")
}

// outcome runs every attack on a backend and returns, by operation, which worked.
func (w world) outcome(t *testing.T, walls Sandbox, uid int) map[string][]string {
	t.Helper()
	var script strings.Builder
	ops := w.operations()
	for _, name := range slices.Sorted(maps.Keys(ops)) {
		for i, attack := range ops[name] {
			if walls.Backend() == None && forReal(name) {
				continue
			}
			fmt.Fprintf(&script, "cd %s && ( %s ) >/dev/null 2>&1 </dev/null && printf '%%s\\t%%d\\n' \"%s\" %d\n", w.own.Work, attack, name, i)
		}
	}
	script.WriteString("cd lib && echo through > done\n")
	out := ""
	if walls.Backend() == None {
		out = inTheOpen(t, w.own, uid, script.String())
	} else {
		out = inside(t, walls, uid, Session{Box: w.own, Port: map[bool]int{false: w.gatewayPort}[walls.TakesHandoff()]}, script.String())
	}
	if n, err := os.ReadFile(filepath.Join(w.own.Work, "lib/done")); string(n) != "through\n" {
		t.Fatalf("%s: the attacks were not all made: %q, %v\n%s", walls, n, err, out)
	}
	worked := make(map[string][]string)
	for line := range strings.Lines(out) {
		name, i, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		var n int
		if _, err := fmt.Sscan(i, &n); !ok || err != nil {
			t.Fatalf("%s: odd line %q", walls, line)
		}
		worked[name] = append(worked[name], ops[name][n])
	}
	return worked
}

func inTheOpen(t *testing.T, b *Box, uid int, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.Home}, b.Work, &out, &out
	cmd.SysProcAttr = probeAttr(ProbeOptions{UID: uid, GID: uid})
	if err := cmd.Run(); err != nil {
		t.Fatalf("run in the open: %v\n%s", err, out.String())
	}
	return out.String()
}

// securityTable reads the table of SECURITY.md: by operation and backend, whether
// it says that the operation is stopped.
func securityTable(t *testing.T) map[string]map[Backend]bool {
	t.Helper()
	data, err := os.ReadFile("../../SECURITY.md")
	testenv.Must(t, err)
	_, rest, found := strings.Cut(string(data), "| what a session tries | bwrap | landlock | none |\n|---|---|---|---|\n")
	if !found {
		t.Fatal("SECURITY.md has no table of what each backend stops")
	}
	out := make(map[string]map[Backend]bool)
	for line := range strings.Lines(rest) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 {
			break
		}
		row := make(map[Backend]bool)
		for i, backend := range []Backend{Bwrap, Landlock, None} {
			switch cell := strings.TrimSpace(cells[i+1]); cell {
			case "stopped", "-":
				row[backend] = cell == "stopped"
			default:
				t.Fatalf("SECURITY.md: cell %q is neither stopped nor -", cell)
			}
		}
		out[strings.TrimSpace(cells[0])] = row
	}
	return out
}

// TestEachRungStopsWhatTheTableSays tries every operation of the table on every
// backend, as root and as an ordinary user.
func TestEachRungStopsWhatTheTableSays(t *testing.T) {
	t.Parallel()
	table := securityTable(t)
	for _, backend := range []Backend{Bwrap, Landlock, None} {
		for _, uid := range users() {
			t.Run(fmt.Sprintf("%s as %d", backend, uid), func(t *testing.T) {
				t.Parallel()
				walls := rungOrSkip(t, backend, uid)
				w := newWorld(t, uid)
				ops, worked := w.operations(), w.outcome(t, walls, uid)
				tried := 0
				for _, name := range slices.Sorted(maps.Keys(ops)) {
					row, listed := table[name]
					if !listed {
						t.Errorf("SECURITY.md says nothing of %q", name)
						continue
					}
					for _, attack := range ops[name] {
						tried++
						did := slices.Contains(worked[name], attack)
						if did && row[backend] || !did && !row[backend] && !forReal(name) {
							t.Errorf("%s: worked: %v, the table says stopped: %v\n%s", name, did, row[backend], attack)
						}
					}
				}
				if tried < 30 || len(ops) != len(table) {
					t.Errorf("%d attacks on %d operations, the table has %d", tried, len(ops), len(table))
				}
			})
		}
	}
}

// fromScopes are the operations that Landlock stops from its version 6 on.
func fromScopes() []string {
	return []string{"signal another program", "connect to a socket without a file"}
}

// An older kernel's Landlock stops what the table says, but for what SECURITY.md
// says of it.
func TestOlderLandlock(t *testing.T) {
	t.Parallel()
	table := securityTable(t)
	for _, abi := range []int{4, 5} {
		uid := users()[len(users())-1]
		walls := rungOrSkip(t, Landlock, uid)
		walls.abi = abi
		w := newWorld(t, uid)
		ops, worked := w.operations(), w.outcome(t, walls, uid)
		for name, attacks := range ops {
			stops := table[name][Landlock] && !slices.Contains(fromScopes(), name)
			if did := len(worked[name]); !forReal(name) && did != map[bool]int{false: len(attacks)}[stops] {
				t.Errorf("version %d: %s: %d of %d worked, want stopped: %v\n%s", abi, name, did, len(attacks), stops, worked[name])
			}
		}
	}
}

// The session's own way out is open on every backend that has a port.
func TestLandlockLeavesTheGateway(t *testing.T) {
	t.Parallel()
	for _, uid := range users() {
		walls := rungOrSkip(t, Landlock, uid)
		w := newWorld(t, uid)
		got := inside(t, walls, uid, Session{Box: w.own, Port: w.gatewayPort}, dial("AF_INET", fmt.Sprintf(`pack_sockaddr_in(%d, inet_aton("127.0.0.1"))`, w.gatewayPort), 0)+" && echo through")
		if got != "through\n" {
			t.Errorf("uid %d: got %q", uid, got)
		}
		got = inside(t, walls, uid, Session{Box: w.own}, dial("AF_INET", fmt.Sprintf(`pack_sockaddr_in(%d, inet_aton("127.0.0.1"))`, w.gatewayPort), 0)+"; echo code $?")
		if got != "code 3\n" {
			t.Errorf("uid %d, without a port: got %q, want no connection", uid, got)
		}
	}
}

// What a program needs works under Landlock, and loopd's own program, with the
// suites inside, cannot be read even where it lies among the system's.
func TestLandlockedSession(t *testing.T) {
	t.Parallel()
	for _, uid := range users() {
		walls, own := rungOrSkip(t, Landlock, uid), wallBox(t, uid)
		agent := filepath.Join(filepath.Dir(own.Root), "agent") // an own file: not every user may link another's
		if shell, err := os.ReadFile("/bin/sh"); err != nil || os.WriteFile(agent, shell, 0o755) != nil {
			t.Fatal(err, agent)
		}
		shown := filepath.Join(treasure(t), "seal")
		e := Session{Box: own, Agent: agent, ReadOnly: []string{filepath.Dir(shown)}, Hidden: []string{shown, filepath.Join(filepath.Dir(shown), "ledger.db"), "/absent"}}
		got := inside(t, walls, uid, e, `cd `+own.Work+`; git log --format=%s; git status --porcelain; mkdir -p a/b && echo x > a/b/c && mv a/b/c a/d && cat a/d
			cat `+filepath.Dir(shown)+`/results.tsv; cat `+shown+`/rubric.md 2>&1 | grep -c Permission; cat `+filepath.Dir(shown)+`/ledger.db 2>&1 | grep -c Permission
			readlink /proc/$$/exe; ls /proc/self/fd | wc -l; grep -c 'CapEff:.0000000000000000' /proc/self/status; grep NoNewPrivs /proc/self/status | tr -d '\t'; ls `+filepath.Dir(shown)+` 2>&1 | grep -c Permission`)
		lines := strings.Split(got, "\n")
		want := []string{"Import project", "x", "canary-51c9e0", "1", "1", "", "4", "1", "NoNewPrivs:1", "1", ""}
		if len(lines) != len(want) {
			t.Fatalf("uid %d: got\n%s", uid, got)
		}
		for i, line := range want {
			if line != "" && lines[i] != line {
				t.Errorf("uid %d, line %d: got %q, want %q in\n%s", uid, i, lines[i], line, got)
			}
		}
		if !strings.HasPrefix(lines[5], own.Root+"/") || !strings.HasSuffix(lines[5], "/claude") {
			t.Errorf("uid %d: the agent is at %q, want a place in its box", uid, lines[5])
		}
	}
}

// loopd's own program stays closed where it lies in a directory that is shown.
func TestLandlockHidesLoopd(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	testenv.Must(t, err)
	walls, own := rungOrSkip(t, Landlock, 0), wallBox(t, 0)
	beside := filepath.Join(filepath.Dir(self), "beside")
	if err := os.WriteFile(beside, []byte("beside\n"), 0o644); err != nil {
		t.Skip(err) // a test that was built elsewhere
	}
	got := inside(t, walls, 0, Session{Box: own, ReadOnly: []string{filepath.Dir(self)}}, "head -c 4 '"+self+"' 2>&1 | grep -c Permission; cat '"+beside+"'; ls '"+filepath.Dir(self)+"' | grep -c beside")
	if got != "1\nbeside\n1\n" {
		t.Errorf("got %q", got)
	}
}

// The sandbox runtime is for macOS, and says what to do here.
func TestProbe_SandboxRuntimeOnLinux(t *testing.T) {
	t.Parallel()
	_, err := Probe(t.Context(), ProbeOptions{Backend: SRT, Path: os.Getenv("PATH")})
	if e, ok := errors.AsType[*ProbeError](err); !ok || !strings.Contains(e.Error(), "on macOS only") || e.Hint() == "" {
		t.Errorf("got %v", err)
	}
}

// No device can be made: root could make itself the disk.
func TestLandlockMakesNoDevice(t *testing.T) {
	t.Parallel()
	walls, own := rungOrSkip(t, Landlock, 0), wallBox(t, 0)
	got := inside(t, walls, 0, Session{Box: own}, `cd `+own.Work+`; mknod zero c 1 5 2>/dev/null && head -c 1 zero && echo made; chown 1 README.md 2>/dev/null && echo owned; mkfifo pipe && echo pipe`)
	if got != "pipe\n" {
		t.Errorf("got %q, want a pipe and nothing of root's", got)
	}
}

// A limit of processes is one of the session in walls of its own, and leaves
// the user's other programs out of the count elsewhere.
func TestProcessesAreLimited(t *testing.T) {
	t.Parallel()
	uid := users()[len(users())-1]
	if uid == 0 && os.Geteuid() == 0 {
		t.Skip("the kernel does not limit root")
	}
	for _, backend := range []Backend{Bwrap, Landlock} {
		walls := rungOrSkip(t, backend, uid)
		for _, tt := range []struct {
			limit int
			want  string
		}{{40, "refused\n"}, {4000, "120\n"}, {0, "120\n"}} {
			e := Session{Box: wallBox(t, uid), Limits: Limits{Processes: tt.limit}}
			got := inside(t, walls, uid, e, `perl -e 'for (1..120) { my $p = fork; if (!defined $p) { print "refused\n"; kill 9, @k; exit } if (!$p) { sleep 60; exit } push @k, $p } print scalar @k, "\n"; kill 9, @k'`)
			if got != tt.want {
				t.Errorf("%s, limit %d: got %q, want %q", backend, tt.limit, got, tt.want)
			}
		}
	}
}

func TestWhatKernelsCount(t *testing.T) {
	t.Parallel()
	for release, want := range map[string]bool{"5.14.0-70.el9": true, "6.18.44": true, "5.13.19": false, "5.4.0-150-generic": false, "4.19": false, "": false} {
		if got := countsByNamespace(release); got != want {
			t.Errorf("%q: got %v", release, got)
		}
	}
	few, err := userLimit(10, 0)
	if own, ownErr := threadsOf(os.Geteuid()); err != nil || ownErr != nil || few <= 10 || own == 0 {
		t.Errorf("got %d, %v, with %d threads, %v, want what runs already left out", few, err, own, ownErr)
	}
}

func TestBoxIsWatched(t *testing.T) {
	t.Parallel()
	b := wallBox(t, 0)
	now := time.Unix(1000, 0)
	tick := func() time.Time { now = now.Add(time.Second); return now }
	watch := b.Watch(t.Context(), 1<<20, tick)
	if err := watch(); err != nil {
		t.Errorf("a small box: got %v", err)
	}
	testenv.Must(t, os.WriteFile(filepath.Join(b.Tmp, "big"), make([]byte, 2<<20), 0o644))
	testenv.Must(t, errors.Join(os.Symlink("/", filepath.Join(b.Home, "all")), syscall.Mkfifo(filepath.Join(b.Work, "pipe"), 0o600)))
	looks := 0
	for watch() == nil {
		if looks++; looks > 100 {
			t.Fatal("a large box is not noticed")
		}
	}
	if looks < restBetween/2 {
		t.Errorf("looked again after %d ticks of a second, want a rest", looks)
	}
	if err := b.Watch(t.Context(), 0, tick)(); err != nil {
		t.Errorf("without a limit: got %v", err)
	}
	if got := b.Watch(t.Context(), 1, tick)(); !errors.Is(got, ErrTooLarge) {
		t.Errorf("got %v", got)
	}
}
