package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"loopd"
)

// version is set by the linker in a release build.
var version string

// versions is the JSON of the verb.
type versions struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Sources string `json:"sources"` // digest of what measures
}

func newVersion(e env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "version of loopd and of its checks", Args: noArgs,
		Long: "  loopd version\n\nPrints the version and a digest of the source of what measures: two with the same\nchecks judge alike.",
		RunE: func(*cobra.Command, []string) error {
			out := versions{versionText(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, loopd.SourceDigest()}
			if asJSON {
				return printJSON(e.stdout, out)
			}
			_, err := fmt.Fprintf(e.stdout, "loopd %s (%s, %s), checks %.12s\n", out.Version, out.Go, out.OS, out.Sources)
			return err
		},
	}
	flagJSON(cmd, &asJSON)
	return cmd
}

func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}
