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

.PHONY: help build demo baseline test nightly setup check faults bench bench-trial fuzz install dist clean gofmt vet staticcheck darwin race

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

build: ## build bin/loopd: one static binary, with fixtures and plugin inside
	@echo "== build bin/loopd $(VERSION)"
	@CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/loopd ./cmd/loopd

demo: build ## a whole campaign in miniature with a simulated model: no account, no key
	@./bin/loopd rehearse --seed 1 --candidates 4

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

# What the tests are given. A skip of what LOOPD_REQUIRE names is a failure.
given = GORACE=atexit_sleep_ms=0 LOOPD_REQUIRE="claude,bwrap,landlock,chromium$$(./scripts/disk-faults.sh --usable)" \
	LOOPD_CLAUDE="$$(./scripts/agent-cli/install.sh $(AGENT_CLI))" LOOPD_AXE="$$(./scripts/axe/install.sh $(AXE))"

# Runs go test with the arguments, then lists the packages that took longest.
define timed
	log=$$(mktemp); { $(given) $(1); echo $$? >"$$log.code"; } 2>&1 | tee "$$log"; code=$$(cat "$$log.code"); \
		echo "== the packages that took longest"; awk '$$1 == "ok" || $$1 == "FAIL" { print $$3, $$2 }' "$$log" | grep -E '^[0-9.]+s ' | sort -rn | head -12; \
		rm -f "$$log" "$$log.code"; exit $$code
endef

race:
	@echo "== go test -race ./..."
	@$(call timed,CGO_ENABLED=1 go test -race -timeout 25m ./...)

# One package at a time: some measure what a session costs.
RUN ?= .
nightly: setup build ## every test with its full counts: kills, faults, power cuts, mutants, memory, the real agent CLI (hours; RUN picks tests)
	@echo "== LOOPD_NIGHTLY=1 go test ./..."
	@$(call timed,LOOPD_NIGHTLY=1 go test -count=1 -p 1 -timeout 240m -run '$(RUN)' ./...)
	@if [ '$(RUN)' = . ]; then set -e; ./bin/loopd plan --simulate; ./bin/loopd rehearse --seed 1-10; ./bin/loopd rehearse --seed 1-10 --profile strict; fi

check: gofmt vet staticcheck darwin ## gofmt, vet, staticcheck, and vet and build for macOS

gofmt:
	@echo "== gofmt"
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "not formatted (gofmt -w .):"; echo "$$bad"; exit 1; fi

# vet and staticcheck use the flags of the tests, whose compiled packages they share.
vet:
	@echo "== go vet"
	@CGO_ENABLED=1 go vet -race ./...

staticcheck:
	@echo "== $(STATICCHECK)"
	@GOBIN="$(CURDIR)/.tools/bin" go install $(STATICCHECK)
	@CGO_ENABLED=1 GOFLAGS="$$(go env GOFLAGS) -race" .tools/bin/staticcheck ./...

darwin:
	@echo "== vet and build for darwin/arm64"
	@CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 go vet ./...
	@CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 go build ./...

bench-trial: setup ## what loopd itself costs beside the sessions it runs: a table (about 5 minutes)
	@echo "== measure trials beside bare sessions"
	@LOOPD_NIGHTLY=1 LOOPD_REQUIRE=claude,bwrap LOOPD_CLAUDE="$$(./scripts/agent-cli/install.sh $(AGENT_CLI))" \
		go test -count=1 -timeout 30m -v -run 'TestRun_Cost|TestRun_GatewayLatency|TestRun_MemoryOfFour|TestStartUp' -bench '^BenchmarkScore$$' ./internal/trial ./cmd/loopd

faults: setup ## provoke every fault of a session with both agents and print what came of it (about 2 minutes)
	@table=$$(mktemp); $(given) LOOPD_FAULTS_TABLE="$$table" go test -count=1 -run 'TestRun_FaultMatrix' ./internal/trial; code=$$?; cat "$$table"; rm -f "$$table"; exit $$code

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
