package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loopd/internal/testenv"
)

func environment(kv map[string]string) func(string) string {
	return func(name string) string { return kv[name] }
}

func TestCredentialIsFoundInOrder(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"XDG_CONFIG_HOME": dir}
	if _, err := FindCredential(environment(env)); !errors.Is(err, ErrNoCredential) {
		t.Fatalf("got %v, want ErrNoCredential", err)
	}
	path, err := CredentialFile(environment(env))
	testenv.Must(t, err)
	stored, err := NewCredential("sk-ant-oat01-abcdef\n", "stdin")
	testenv.Must(t, err)
	testenv.Must(t, SaveCredential(path, stored))
	got, err := FindCredential(environment(env))
	if err != nil || got.Kind != OAuthToken || got.Value() != "sk-ant-oat01-abcdef" || got.Where != path {
		t.Errorf("got %v, %v", got, err)
	}
	env["CLAUDE_CODE_OAUTH_TOKEN"] = "token"
	if got, _ := FindCredential(environment(env)); got.Value() != "token" {
		t.Errorf("the variable does not come before the file: %v", got)
	}
	env["ANTHROPIC_API_KEY"] = "key"
	if got, _ := FindCredential(environment(env)); got.Kind != APIKey {
		t.Errorf("the key does not come before the token: %v", got)
	}
}

func TestCredentialFileIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loopd", "credential")
	c, err := NewCredential("sk-ant-api03-x", "stdin")
	testenv.Must(t, err)
	testenv.Must(t, SaveCredential(path, c))
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v; want 0600", info.Mode(), err)
	}
	testenv.Must(t, os.Chmod(path, 0o644))
	env := environment(map[string]string{"XDG_CONFIG_HOME": filepath.Dir(filepath.Dir(path))})
	if _, err := FindCredential(env); err == nil || !strings.Contains(err.Error(), "0644") {
		t.Errorf("a file open to others was read: %v", err)
	}
}

func TestCredentialIsNotPrinted(t *testing.T) {
	c, err := NewCredential("sk-ant-api03-secret", "stdin")
	testenv.Must(t, err)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb, c); strings.Contains(text, "secret") {
			t.Errorf("%s prints %q", verb, text)
		}
	}
	for _, bad := range []string{"", "  \n", "two words"} {
		if _, err := NewCredential(bad, "stdin"); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
