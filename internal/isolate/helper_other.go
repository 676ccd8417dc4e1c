//go:build !linux

package isolate

import (
	"errors"
	"os"
)

// HelperMain has nothing to do where there is no bubblewrap, and says so by its
// exit code.
func HelperMain([]string, []string) int { return 126 }

func unnamedFile(string) (*os.File, error) {
	return nil, errors.ErrUnsupported
}
