// Package testenv holds what the tests of several packages need: files and
// folders, git repositories, goldens, child processes that are killed, and the
// variables that say what a run of the tests must have and how far it goes.
//
// Only test files import it, and it imports the standard library and go-cmp
// alone, so that the tests of every package may use it. It never calls anything
// of loopd: a helper that does belongs to the tests of that package.
//
// Variables: LOOPD_REQUIRE lists what may not be missing (a test without it
// fails; else it is skipped), LOOPD_NIGHTLY=1 asks for full counts, LOOPD_SEED
// repeats the random choices of a run, LOOPD_CLAUDE names the real agent CLI.
package testenv

import (
	"hash/maphash"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Required reports whether LOOPD_REQUIRE names what.
func Required(what string) bool {
	separator := func(r rune) bool { return r == ',' || r == ' ' }
	return slices.Contains(strings.FieldsFunc(os.Getenv("LOOPD_REQUIRE"), separator), what)
}

// Need skips the test when err says that what is missing on this machine; when
// LOOPD_REQUIRE names it, the test fails.
func Need(t testing.TB, what string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case Required(what):
		t.Fatalf("LOOPD_REQUIRE names %s: %v", what, err)
	default:
		t.Skipf("without %s: %v", what, err)
	}
}

// Claude returns the path of the real agent CLI, or "" where LOOPD_CLAUDE names
// none; then the test fails if LOOPD_REQUIRE names claude.
func Claude(t testing.TB) string {
	t.Helper()
	path := os.Getenv("LOOPD_CLAUDE")
	if path == "" && Required("claude") {
		t.Fatal("LOOPD_REQUIRE names claude, but LOOPD_CLAUDE names no program")
	}
	return path
}

// NeedClaude returns the path of the real agent CLI and skips the test without
// it.
func NeedClaude(t testing.TB) string {
	t.Helper()
	path := Claude(t)
	if path == "" {
		t.Skip("LOOPD_CLAUDE names no program")
	}
	return path
}

// Nightly reports whether the tests run with their full counts.
func Nightly() bool { return os.Getenv("LOOPD_NIGHTLY") != "" }

// NightlyOnly skips the test every day and says what it costs.
func NightlyOnly(t testing.TB, cost string) {
	t.Helper()
	if !Nightly() {
		t.Skipf("%s; make nightly", cost)
	}
}

// Count returns how often a test repeats something: everyday, or nightly.
func Count(everyday, nightly int) int {
	if Nightly() {
		return nightly
	}
	return everyday
}

// Raced reports whether the race detector runs, under which nothing costs what it
// does otherwise.
func Raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// Seed returns the seed of the test's random choices and prints how to repeat
// them. Without LOOPD_SEED every run has another one.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := maphash.String(maphash.MakeSeed(), "") >> 32 // short enough to type
	if text := os.Getenv("LOOPD_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("LOOPD_SEED: %v", err)
		}
	}
	t.Logf("LOOPD_SEED=%d repeats the random choices of this run", seed)
	return seed
}

// Rand returns a source of random choices from Seed.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Seed(t), 0))
}
