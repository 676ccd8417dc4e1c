package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"loopd/internal/atomicfile"
	"loopd/loop"
)

// CredentialKind tells the two kinds of credential apart.
type CredentialKind string

// The kinds of credential the Messages API takes.
const (
	APIKey     CredentialKind = loop.PaidByKey
	OAuthToken CredentialKind = loop.Subscription
)

// Credential is the user's secret for the API. It prints as its kind.
type Credential struct {
	Kind  CredentialKind
	Where string // the file or variable it came from
	value string
}

// Value returns the secret itself, for the gateway only.
func (c Credential) Value() string { return c.value }

// String never shows the secret.
func (c Credential) String() string { return string(c.Kind) + " from " + c.Where }

// GoString never shows the secret.
func (c Credential) GoString() string { return c.String() }

// oauthPrefix is what tokens of "claude setup-token" begin with.
const oauthPrefix = "sk-ant-oat"

// NewCredential tells the kind of a secret by its prefix.
func NewCredential(value, where string) (Credential, error) {
	value = strings.TrimSpace(value)
	if value == "" || strings.ContainsAny(value, " \t\n\r") {
		return Credential{}, errors.New("read credential: want one word")
	}
	kind := APIKey
	if strings.HasPrefix(value, oauthPrefix) {
		kind = OAuthToken
	}
	return Credential{Kind: kind, Where: where, value: value}, nil
}

// CredentialFile is where login keeps the credential, because cron, systemd and
// launchd do not see a shell's environment.
func CredentialFile(getenv func(string) string) (string, error) {
	base := getenv("XDG_CONFIG_HOME")
	if base == "" {
		home := getenv("HOME")
		if home == "" {
			return "", errors.New("find credential: neither XDG_CONFIG_HOME nor HOME is set")
		}
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "loopd", "credential"), nil
}

// SaveCredential writes the credential for this user alone.
func SaveCredential(path string, c Credential) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("save credential: %w", err)
	}
	return atomicfile.WriteFile(path, []byte(c.value+"\n"), 0o600)
}

// ErrNoCredential says that there is none.
var ErrNoCredential = errors.New("no credential: neither ANTHROPIC_API_KEY nor CLAUDE_CODE_OAUTH_TOKEN is set and none is stored")

// FindCredential takes the credential from the environment, else from the file
// of login. A file that others can read is an error.
func FindCredential(getenv func(string) string) (Credential, error) {
	if v := getenv("ANTHROPIC_API_KEY"); v != "" {
		return Credential{Kind: APIKey, Where: "ANTHROPIC_API_KEY", value: v}, nil
	}
	if v := getenv("CLAUDE_CODE_OAUTH_TOKEN"); v != "" {
		return Credential{Kind: OAuthToken, Where: "CLAUDE_CODE_OAUTH_TOKEN", value: v}, nil
	}
	path, err := CredentialFile(getenv)
	if err != nil {
		return Credential{}, ErrNoCredential
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Credential{}, ErrNoCredential
	}
	if err != nil {
		return Credential{}, fmt.Errorf("read credential: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return Credential{}, fmt.Errorf("read credential %s: mode %04o lets others read it, want 0600", path, info.Mode().Perm())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Credential{}, fmt.Errorf("read credential: %w", err)
	}
	return NewCredential(string(data), path)
}
