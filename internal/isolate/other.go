//go:build !linux

package isolate

import (
	"context"
	"errors"
)

// HelperMain has nothing to do where there is no bubblewrap, and says so by its
// exit code.
func HelperMain([]string, []string) int { return 126 }

// IsHelper is true of no program here.
func IsHelper([]string) bool { return false }

func probeBwrap(context.Context, ProbeOptions) (Sandbox, error) {
	return Sandbox{}, &ProbeError{Text: "bubblewrap needs Linux"}
}

func probeLandlock(ProbeOptions) (Sandbox, error) {
	return Sandbox{}, &ProbeError{Text: "Landlock needs Linux"}
}

func (Sandbox) wrapBwrap(*Wrapped, Session, []string) error { return errors.ErrUnsupported }

func (Sandbox) wrapLandlock(*Wrapped, Session) error { return errors.ErrUnsupported }
