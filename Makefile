# Every target prints what it is doing; "make" alone lists them.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

PREFIX ?= /usr/local
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
AGENT_CLI := .tools/agent-cli
AXE := .tools/axe
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 30s

.PHONY: help build baseline demo test pictures rungs check simulate-full rehearse-full first-night-full mutate-full memory-full faults faults-full soak soak-full bench bench-trial fuzz clean install dist setup race gofmt vet staticcheck darwin

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

build: ## build bin/loopd: one static binary, with fixtures and plugin inside
	@echo "== build bin/loopd $(VERSION)"
	@CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/loopd ./cmd/loopd

demo: build ## a whole campaign in miniature with a simulated model: no account, no key
	@echo "== rehearse a night with seed 1"
	@./bin/loopd rehearse --seed 1

baseline: build ## evaluate docs/eval again and write its baseline.json and baseline.md anew
	@echo "== evaluate docs/eval"
	@rm -f docs/eval/baseline.json docs/eval/baseline.md
	@./bin/loopd eval trace docs/eval/cases.yaml docs/eval/traces --json docs/eval/baseline.json --markdown docs/eval/baseline.md

test: setup check race ## set up what the tests need, check, then run every test once under the race detector

setup: ## what the tests need: a C compiler, bubblewrap, Chromium, and the pinned agent CLI and axe-core below .tools/
	@echo "== set up: C compiler"
	@./scripts/c-compiler.sh
	@echo "== set up: bubblewrap"
	@./scripts/bubblewrap.sh
	@echo "== set up: strace and ext4, for disks that fail"
	@./scripts/disk-faults.sh
	@echo "== set up: Chromium"
	@./scripts/chromium.sh
	@echo "== set up: axe-core"
	@./scripts/axe/install.sh $(AXE)
	@echo "== set up: agent CLI"
	@./scripts/agent-cli/install.sh $(AGENT_CLI)

# A skip of what LOOPD_REQUIRE names is a failure.
race:
	@echo "== go test -race ./..."
	@GORACE=atexit_sleep_ms=0 LOOPD_REQUIRE="claude,bwrap,landlock,chromium$$(./scripts/disk-faults.sh --usable)" LOOPD_CLAUDE="$$(./scripts/agent-cli/install.sh $(AGENT_CLI))" \
		LOOPD_AXE="$$(./scripts/axe/install.sh $(AXE))" \
		CGO_ENABLED=1 go test -race -timeout 15m ./...

rungs: ## the rungs of isolation on Anthropic's sandbox runtime too; needs socat and ripgrep
	@echo "== set up: sandbox runtime"
	@PATH="$$(./scripts/sandbox-runtime/install.sh .tools/sandbox-runtime):$$PATH" LOOPD_REQUIRE=claude,bwrap,landlock,srt \
		LOOPD_CLAUDE="$$(./scripts/agent-cli/install.sh $(AGENT_CLI))" go test -count=1 -run 'Rung' ./internal/isolate ./internal/agent

check: gofmt vet staticcheck darwin ## gofmt, vet, staticcheck, and vet and build for macOS

gofmt:
	@echo "== gofmt"
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "not formatted (gofmt -w .):"; echo "$$bad"; exit 1; fi

# vet and staticcheck use the flags of build, whose compiled packages they share.
vet:
	@echo "== go vet"
	@CGO_ENABLED=0 go vet -trimpath ./...

staticcheck:
	@echo "== $(STATICCHECK)"
	@CGO_ENABLED=0 GOFLAGS="$$(go env GOFLAGS) -trimpath" go run $(STATICCHECK) ./...

darwin:
	@echo "== vet and build for darwin/arm64"
	@CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 go vet ./...
	@CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 go build ./...

simulate-full: build ## every check of the decision procedure at its full count (under 90 s on two cores)
	@echo "== simulate the decision procedure"
	@./bin/loopd simulate --tables

rehearse-full: build ## ten rehearsals under the profiles fast and strict (about 20 minutes)
	@echo "== rehearse ten nights, fast, then strict"
	@./bin/loopd rehearse --seeds 1-10
	@./bin/loopd rehearse --seeds 1-10 --profile strict

first-night-full: setup ## type docs/first-night.md word for word with the real agent CLI (about 4 minutes; make test does it with the stand-in)
	@echo "== a first night with the real agent CLI"
	@LOOPD_FIRST_NIGHT=claude LOOPD_CLAUDE="$$(./scripts/agent-cli/install.sh $(AGENT_CLI))" go test -count=1 -timeout 30m -v -run 'TestFirstNight$$' ./cmd/loopd

mutate-full: ## switch off every rule of the harness in turn and want a test to fail (about 5 minutes; go test runs a sample)
	@echo "== mutate every rule"
	@LOOPD_MUTATE=full go test -count=1 -timeout 30m -v -run TestEveryRuleIsNeeded ./internal/mutants

pictures: setup ## look at the pages: a picture of each below /tmp/loopd-pages, in light, dark, narrow and printed
	@mkdir -p /tmp/loopd-pages
	@LOOPD_SHOTS=/tmp/loopd-pages LOOPD_REQUIRE=chromium LOOPD_AXE="$$(./scripts/axe/install.sh $(AXE))" go test -count=1 -run 'TestInABrowser' ./internal/web
	@ls /tmp/loopd-pages

bench-trial: setup ## what loopd itself costs beside the sessions it runs: a table (about 5 minutes)
	@echo "== measure trials beside bare sessions"
	@LOOPD_COST=full LOOPD_REQUIRE=claude,bwrap LOOPD_CLAUDE="$$(./scripts/agent-cli/install.sh $(AGENT_CLI))" \
		go test -count=1 -timeout 30m -v -run 'TestWhatATrialCosts|TestTheGatewayAddsLittle|TestFourSideBySideStaySmall|TestStartUp' -bench '^BenchmarkScore$$' ./internal/trial ./cmd/loopd

memory-full: ## read streams of 1 GB with one line of 100 MB (about 20 s)
	@LOOPD_FULL=1 go test -count=1 -v -run TestMemoryOfAnEndlessStream ./harness/transcript

FAULTS := TestFaultMatrix|TestHungSessionsAreGone|TestChildrenAreGone|TestNothingOutlivesAKilledLoopd|TestNoFaultIsCounted|TestANightWaitsOutALimit

faults: setup ## provoke every fault with both agents and print what came of it (about 2 minutes; make test runs it too)
	@$(call faults,short)

faults-full: setup ## the same with 500 faults, 100 hung sessions, 200 with stray children and 50 kills (about 10 minutes)
	@$(call faults,full)

# The table is printed whether the tests pass or not.
define faults
	table=$$(mktemp); LOOPD_FAULTS=$(1) LOOPD_FAULTS_TABLE="$$table" LOOPD_REQUIRE=claude LOOPD_CLAUDE="$$(./scripts/agent-cli/install.sh $(AGENT_CLI))" \
		go test -count=1 -timeout 60m -run '$(FAULTS)' ./internal/trial ./internal/admission; code=$$?; cat "$$table"; rm -f "$$table"; exit $$code
endef

# Kills, power cuts, failing disks, users who commit, sealed files that change.
SOAK := TestKilled|TestCampaignKilledAtRandom|TestPowerLoss|TestASyncThatFails|TestADiskThatFills|TestNoScoreOnMutatedBytes|TestATouchIsNoDrift|TestTheUserCommitsAllNight|TestBranchesAreDamagedInEveryPhase|TestEvery|TestATornTail|TestOneHolderOfManyProcesses|TestReadyAgainWithManyTrials

soak: ## kill, cut off power, fill disks, change sealed files, and go on (about 3 minutes; make test runs it too)
	@$(call soak,short)

soak-full: ## the same with 200 kills, every step by itself, 60 power cuts, 64 disks, 1,000 changes (about an hour)
	@$(call soak,full)

# What was measured is printed whether the tests pass or not.
define soak
	echo "== soak ($(1))"; ./scripts/disk-faults.sh; said=$$(mktemp); LOOPD_SOAK=$(1) LOOPD_REQUIRE="none$$(./scripts/disk-faults.sh --usable)" \
		go test -count=1 -v -timeout 240m -run '$(SOAK)' ./internal/ledger ./internal/campaign ./internal/rehearsal >"$$said" 2>&1; code=$$?; \
		grep -E '^ *(---|ok|FAIL|panic)|_test.go:' "$$said" | grep -v 'killed a'; rm -f "$$said"; exit $$code
endef

bench: ## run the benchmarks (compare two runs with benchstat, -count=10)
	@go test -run '^$$' -bench . -benchmem ./...

# Making an input smaller is bounded in tries: by default one input may take a minute, all of FUZZTIME.
fuzz: ## fuzz every target for FUZZTIME each
	@set -e; found=0; \
	for file in $$(grep -rl --exclude-dir=.tools --include='*_test.go' '^func Fuzz' . | sort); do \
		for name in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$$file"); do \
			found=1; echo "== $$name in $$(dirname "$$file") for $(FUZZTIME)"; \
			go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$(dirname "$$file")"; \
		done; \
	done; \
	[ $$found = 1 ] || { echo "no fuzz target found"; exit 1; }

install: build ## copy bin/loopd, manual pages and shell completions below PREFIX (default /usr/local)
	@echo "== install $(DESTDIR)$(PREFIX)/bin/loopd"
	@install -d "$(DESTDIR)$(PREFIX)/bin"
	@install -m 0755 bin/loopd "$(DESTDIR)$(PREFIX)/bin/loopd"
	@$(call extras,$(DESTDIR)$(PREFIX)/share)

# Manual pages and completions below a share directory, written by the program itself.
define extras
	set -e; share="$(1)"; install -d "$$share/man/man1" "$$share/bash-completion/completions" "$$share/zsh/site-functions" "$$share/fish/vendor_completions.d"; \
	./bin/loopd man "$$share/man/man1" >/dev/null; \
	./bin/loopd completion bash >"$$share/bash-completion/completions/loopd"; \
	./bin/loopd completion zsh >"$$share/zsh/site-functions/_loopd"; \
	./bin/loopd completion fish >"$$share/fish/vendor_completions.d/loopd.fish"
endef

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

# Archives of one commit are the same bytes wherever they are made: names in order, no owner, the time of the commit.
dist: build ## archives for Linux and macOS with manual pages and completions, and their checksums, in dist/
	@rm -rf dist && mkdir -p dist && $(call extras,dist/share)
	@set -e; when=$$(git log -1 --format=%cI); for p in $(PLATFORMS); do \
		name="loopd_$(VERSION)_$${p%/*}_$${p#*/}"; echo "== dist/$$name.tar.gz"; \
		mkdir -p "dist/$$name" && cp -R README.md LICENSE dist/share "dist/$$name"; \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o "dist/$$name/loopd" ./cmd/loopd; \
		tar -C dist --sort=name --mtime="$$when" --owner=0 --group=0 --numeric-owner -cf - "$$name" | gzip -n >"dist/$$name.tar.gz"; rm -r "dist/$$name"; \
	done
	@rm -r dist/share; cd dist && sha256sum *.tar.gz | tee checksums.txt

clean: ## remove what was built and what the tests installed
	@rm -rf bin dist .tools
