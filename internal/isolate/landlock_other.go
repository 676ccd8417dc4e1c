//go:build !linux

package isolate

import (
	"context"
	"io/fs"
)

func probeLandlock(context.Context) (int, error) {
	return 0, &ProbeError{Reason: ReasonSystem, Program: "Landlock"}
}

func userLimit(int, int) (uint64, error) { return 0, nil }

func namespaceLimit(int, int) (uint64, error) { return 0, nil }

func occupied(info fs.FileInfo) int64 { return info.Size() }
