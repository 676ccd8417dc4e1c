package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loopd/internal/testenv"
)

// childEnv makes the test binary the process that is killed.
const childEnv = "LOOPD_GITREPO_CHILD"

func TestMain(m *testing.M) {
	if dirs := os.Getenv(childEnv); dirs != "" {
		fmt.Fprintln(os.Stderr, writeUntilKilled(dirs))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// writeUntilKilled commits, sets references and publishes without end, and prints each branch it was told is there.
func writeUntilKilled(dirs string) error {
	private, user, _ := strings.Cut(dirs, "\n")
	user, round, _ := strings.Cut(user, "\n")
	p, err := OpenPrivate(private)
	if err != nil {
		return err
	}
	u, err := OpenUser(user)
	if err != nil {
		return err
	}
	head, err := u.Head()
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		c := simple(fmt.Sprint("text ", round, " ", i))
		c.Parents = []string{head.Commit}
		hash, err := p.WriteCommit(c)
		if err != nil {
			return err
		}
		ref := fmt.Sprintf("%s%s/%d", PublishedPrefix, round, i)
		if err := p.SetRef(ref, hash, ""); err != nil {
			return err
		}
		if err := u.Publish(context.Background(), p, hash, ref, ""); err != nil {
			return err
		}
		fmt.Println(ref, hash)
	}
}

func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	const rounds = 20
	dir := userRepo(t)
	u, p := openUser(t, dir), newPrivate(t)
	candidate(t, p, u, "one") // imports the base
	acknowledged := map[string]string{}
	for round := range rounds {
		lines := testenv.KillAfter(t, testenv.Self(t, childEnv+"="+p.Dir()+"\n"+dir+"\n"+fmt.Sprint("r", round)), 1+round%3, time.Duration(round)*1700*time.Microsecond)
		for _, line := range lines {
			ref, hash, _ := strings.Cut(line, " ")
			acknowledged[ref] = hash
		}
		if _, err := p.SweepLocks(); err != nil {
			t.Fatal(err)
		}
	}
	for ref, hash := range acknowledged {
		if got, err := p.Ref(ref); err != nil || got != hash {
			t.Errorf("%s in the private repository: got %q and error %v, want %s", ref, got, err, hash)
		}
		if got, err := u.Ref(ref); err != nil || got != hash {
			t.Errorf("%s in the user's repository: got %q and error %v, want %s", ref, got, err, hash)
		}
	}
	if len(acknowledged) < rounds {
		t.Fatalf("only %d branches were made in %d rounds", len(acknowledged), rounds)
	}
	fsck(t, p.Dir())
	fsck(t, dir)
}

func TestWithoutGit(t *testing.T) {
	dir := userRepo(t)
	u := openUser(t, dir)
	t.Setenv("PATH", filepath.Join(dir, "empty"))
	if _, err := u.git(t.Context(), nil, "version"); !errors.Is(err, ErrNoGit) {
		t.Errorf("got %v, want %v", err, ErrNoGit)
	}
}
