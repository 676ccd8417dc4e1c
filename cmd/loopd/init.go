package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/gitrepo"
)

func newInit(e env) *cobra.Command {
	var own bool
	cmd := &cobra.Command{
		Use: "init", Short: "settings for the plugin in this directory", Args: noArgs,
		Long: "  loopd init\n  loopd init --own-suite\n\nWrites loopd.yaml beside the plugin, and with --own-suite a copy of the bundled\nsuite to edit in loopd-suite/. Nothing that exists is overwritten.",
		RunE: func(*cobra.Command, []string) error { return runInit(e, own) },
	}
	cmd.Flags().BoolVar(&own, "own-suite", false, "copy the bundled suite to loopd-suite/ to edit it")
	return cmd
}

// ownSuite is where a plugin's own suite lies by default.
const ownSuite = "loopd-suite"

func runInit(e env, own bool) error {
	name, err := pluginName(e.dir)
	if err != nil {
		return err
	}
	if _, err := gitrepo.OpenUser(e.dir); err != nil {
		return fmt.Errorf("set up %s: %w", name, err)
	}
	path := filepath.Join(e.dir, config.FileName)
	if _, err := os.Lstat(path); err == nil {
		return usageError("loopd config", "set up %s: %s exists", name, path)
	}
	bundled, measured, err := campaign.BundledFor(name)
	if err != nil {
		return err
	}
	suite := config.Bundled
	if own {
		suite = ownSuite
		err := campaign.WriteBundledSuite(cmp.Or(bundled, campaign.BundledSuite), filepath.Join(e.dir, ownSuite))
		if errors.Is(err, fs.ErrExist) {
			return usageError("loopd init", "set up %s: %s exists", name, filepath.Join(e.dir, ownSuite))
		}
		if err != nil {
			return err
		}
	} else if !measured {
		return usageError("loopd init --own-suite", "set up %s: no bundled suite measures this plugin; it needs a suite of its own", name)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("set up %s: %w", name, err)
	}
	_, err = fmt.Fprintf(f, config.Template, ".", suite)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("set up %s: %w", name, err)
	}
	_, err = fmt.Fprintf(e.stdout, "wrote %s for the plugin %s\n\nNext: loopd freeze\n", path, name)
	return err
}

// pluginName reads the name of the plugin in a directory.
func pluginName(dir string) (string, error) {
	path := filepath.Join(dir, ".claude-plugin", "plugin.json")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", usageError("cd PLUGIN && loopd init", "set up %s: no plugin here: .claude-plugin/plugin.json is missing", dir)
	}
	if err != nil {
		return "", fmt.Errorf("set up %s: %w", dir, err)
	}
	var manifest struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return "", usageError("loopd init", "read %s: %w", path, err)
	}
	if manifest.Name == "" {
		return "", usageError("loopd init", "read %s: name: missing", path)
	}
	return manifest.Name, nil
}
