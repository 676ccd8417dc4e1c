package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Health is how a check came out.
type Health string

// The ways a check can come out. Only HealthBad keeps a campaign from starting.
const (
	HealthOK      Health = "ok"
	HealthWarning Health = "warning"
	HealthBad     Health = "bad"
)

// Row is one check.
type Row struct {
	Name   string `json:"name"`
	Health Health `json:"health"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"` // a command to type
}

// Check makes one row.
type Check func(ctx context.Context) Row

// Examine runs the checks in order.
func Examine(ctx context.Context, checks ...Check) []Row {
	rows := make([]Row, len(checks))
	for i, c := range checks {
		rows[i] = c(ctx)
	}
	return rows
}

// Worst is the worst health of the rows.
func Worst(rows []Row) Health {
	worst := HealthOK
	for _, r := range rows {
		if r.Health == HealthBad || r.Health == HealthWarning && worst == HealthOK {
			worst = r.Health
		}
	}
	return worst
}

// Git checks that git is there: it publishes the branches.
func Git(ctx context.Context) Row {
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		return Row{"git", HealthBad, "git does not run: " + err.Error(), "apt-get install git"}
	}
	return Row{Name: "git", Health: HealthOK, Detail: strings.TrimSpace(strings.TrimPrefix(string(out), "git version "))}
}

// Agent checks that the agent CLI runs, by a function that finds and asks it.
func Agent(version func(ctx context.Context) (path, version string, err error)) Check {
	return func(ctx context.Context) Row {
		path, v, err := version(ctx)
		if err != nil {
			return Row{"agent CLI", HealthBad, err.Error(), "npm install -g @anthropic-ai/claude-code"}
		}
		return Row{Name: "agent CLI", Health: HealthOK, Detail: v + " at " + path}
	}
}

// Managed checks that none of an administrator's files for the agent lies on the
// machine.
func Managed(paths ...string) Check {
	return func(context.Context) Row {
		for _, path := range paths {
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				return Row{"managed settings", HealthBad, path + " would be read by every session without walls", "mv " + path + " " + path + ".off"}
			}
		}
		return Row{Name: "managed settings", Health: HealthOK, Detail: "none"}
	}
}

// User says who sessions run as, given who loopd is and a function that tries
// what they get: the user they are to this machine, 0 for loopd's own, and
// whether there are walls around them.
func User(loopd int, session func(ctx context.Context) (uid int, walled bool)) Check {
	return func(ctx context.Context) Row {
		uid, walled := session(ctx)
		if loopd != 0 || uid == 0 {
			uid = loopd
		}
		who, where := "an ordinary user", "within walls"
		if uid == 0 {
			who = "root to this machine"
		}
		if !walled {
			where = "in the open"
		}
		row := Row{Name: "user", Health: HealthOK, Detail: fmt.Sprintf("loopd runs as uid %d, sessions %s as uid %d, %s", loopd, where, uid, who)}
		if loopd == 0 && (!walled || uid == 0) {
			row.Health, row.Fix = HealthWarning, "run loopd as an ordinary user"
		}
		return row
	}
}

// Isolation says which rung a session gets, by a function that tries it.
func Isolation(probe func(ctx context.Context) (rung string, err error), fix func(error) string) Check {
	return func(ctx context.Context) Row {
		rung, err := probe(ctx)
		if err != nil {
			return Row{"isolation", HealthBad, err.Error(), fix(err)}
		}
		return Row{Name: "isolation", Health: HealthOK, Detail: rung}
	}
}

// Graphify says whether the code graph of a scenario can be built.
func Graphify(ctx context.Context) Row {
	path, err := exec.LookPath("graphify")
	if err != nil {
		return Row{"graphify", HealthWarning, "not on the PATH: scenarios with a code graph are not run", "pip install graphifyy==0.8.28"}
	}
	return Row{Name: "graphify", Health: HealthOK, Detail: path}
}

// enough is the disk space a campaign should find.
const enough = 2 << 30

// Disk checks the space where attempts are kept, by a function that measures.
func Disk(dir string, free func(dir string) (uint64, error)) Check {
	return func(context.Context) Row {
		at := existing(dir)
		n, err := free(at)
		switch {
		case err != nil:
			return Row{"disk", HealthBad, fmt.Sprintf("%s: %v", at, err), "df -h " + at}
		case n < enough:
			return Row{"disk", HealthBad, fmt.Sprintf("%d MiB free at %s, want %d", n>>20, at, enough>>20), "loopd prune --older 30d --dry-run"}
		}
		return Row{Name: "disk", Health: HealthOK, Detail: fmt.Sprintf("%d GiB free at %s", n>>30, at)}
	}
}

// existing is the nearest directory above that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// CheckOf is a check whose answer is whether a function works.
func CheckOf(name, fix string, health Health, f func(ctx context.Context) (detail string, err error)) Check {
	return func(ctx context.Context) Row {
		detail, err := f(ctx)
		if err != nil {
			return Row{name, health, err.Error(), fix}
		}
		return Row{Name: name, Health: HealthOK, Detail: detail}
	}
}
