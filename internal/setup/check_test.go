package setup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loopd/internal/testenv"
)

// Every defect gives its row, bad or odd, with a command; without it the row is
// ok and has none.
func TestEachDefectHasItsFix(t *testing.T) {
	dir := t.TempDir()
	managed := filepath.Join(dir, "managed-settings.json")
	testenv.Must(t, os.WriteFile(managed, nil, 0o600))
	boom := errors.New("user namespaces are refused")
	for name, tc := range map[string]struct {
		good, bad Check
		want      Health
	}{
		"agent": {
			Agent(func(context.Context) (string, string, error) { return "/usr/bin/claude", "2.1.332", nil }),
			Agent(func(context.Context) (string, string, error) { return "", "", boom }), HealthBad,
		},
		"managed": {Managed(filepath.Join(dir, "none.json")), Managed(filepath.Join(dir, "none.json"), managed), HealthBad},
		"user":    {User(1000, as(0, true)), User(0, as(65534, false)), HealthWarning},
		"root":    {User(0, as(65534, true)), User(0, as(0, true)), HealthWarning},
		"isolation": {
			Isolation(func(context.Context) (string, error) { return "bwrap", nil }, func(error) string { return "x" }),
			Isolation(func(context.Context) (string, error) { return "", boom }, func(error) string { return "apt-get install bubblewrap" }), HealthBad,
		},
		"disk": {
			Disk(dir, func(string) (uint64, error) { return 50 << 30, nil }), Disk(dir, func(string) (uint64, error) { return 1 << 20, nil }), HealthBad,
		},
		"disk unreadable": {
			Disk(dir, func(string) (uint64, error) { return 50 << 30, nil }), Disk(dir, func(string) (uint64, error) { return 0, boom }), HealthBad,
		},
		"simple": {
			CheckOf("seal", "loopd freeze", HealthBad, func(context.Context) (string, error) { return "holds", nil }),
			CheckOf("seal", "loopd freeze", HealthBad, func(context.Context) (string, error) { return "", boom }), HealthBad,
		},
	} {
		good, bad := tc.good(t.Context()), tc.bad(t.Context())
		if good.Health != HealthOK || good.Fix != "" || good.Detail == "" {
			t.Errorf("%s: sound, but %+v", name, good)
		}
		if bad.Health != tc.want || bad.Fix == "" || bad.Detail == "" {
			t.Errorf("%s: defect, but %+v", name, bad)
		}
	}
}

func as(uid int, walled bool) func(context.Context) (int, bool) {
	return func(context.Context) (int, bool) { return uid, walled }
}

func TestUserSaysWhoSessionsAre(t *testing.T) {
	for _, tc := range []struct {
		loopd, uid int
		walled     bool
		want       string
	}{
		{1000, 0, true, "loopd runs as uid 1000, sessions within walls as uid 1000, an ordinary user"},
		{1000, 0, false, "loopd runs as uid 1000, sessions in the open as uid 1000, an ordinary user"},
		{0, 65534, true, "loopd runs as uid 0, sessions within walls as uid 65534, an ordinary user"},
		{0, 65534, false, "loopd runs as uid 0, sessions in the open as uid 65534, an ordinary user"},
		{0, 0, true, "loopd runs as uid 0, sessions within walls as uid 0, root to this machine"},
	} {
		if got := User(tc.loopd, as(tc.uid, tc.walled))(t.Context()); got.Detail != tc.want {
			t.Errorf("%+v: got %q", tc, got.Detail)
		}
	}
}

func TestProgramsHiddenFromThePath(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if r := Git(t.Context()); r.Health != HealthBad || r.Fix == "" {
		t.Errorf("git hidden: %+v", r)
	}
	if r := Graphify(t.Context()); r.Health != HealthWarning || !strings.Contains(r.Fix, "graphify") {
		t.Errorf("graphify hidden: %+v", r)
	}
}

func TestWorst(t *testing.T) {
	for _, tc := range []struct {
		rows []Row
		want Health
	}{
		{nil, HealthOK}, {[]Row{{Health: HealthOK}}, HealthOK}, {[]Row{{Health: HealthWarning}, {Health: HealthOK}}, HealthWarning}, {[]Row{{Health: HealthWarning}, {Health: HealthBad}, {Health: HealthWarning}}, HealthBad},
	} {
		if got := Worst(tc.rows); got != tc.want {
			t.Errorf("%v: got %s, want %s", tc.rows, got, tc.want)
		}
	}
}

func TestDiskLooksAtTheNearestDirectory(t *testing.T) {
	dir := t.TempDir()
	asked := ""
	Disk(filepath.Join(dir, "a", "b"), func(at string) (uint64, error) { asked = at; return 50 << 30, nil })(t.Context())
	if asked != dir {
		t.Errorf("looked at %s, want %s", asked, dir)
	}
}
