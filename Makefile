# prony: the recipes. `make` lists them.
SHELL := /bin/bash
# The folder in which scripts/setup installs a Node.js if the machine's own is too old.
export PATH := $(CURDIR)/.prony/cache/node/bin:$(PATH)
.DEFAULT_GOAL := help
.PHONY: help setup build bench ready test test-all test-services test-kubernetes fmt lint unit web services bench-drafts bench-engine bench-store dist test-dist fuzz clean studies study site pictures

help: ## list the recipes
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

# Set up

setup: ## install what building prony needs
	@scripts/setup

build: setup ## build prony
	cargo build --release --locked --bin prony

# Measure

bench: ## the main job: build, start, check, load and rank real services (about ten minutes on a fresh machine)
	@scripts/bench

studies: build ## measure every study in `quick`, then export all into results/ (28 hours by the plans, perhaps 50; a repeated command continues)
	@cargo xtask study --resume

study: ## one study: `make study-000` to `make study-004`, or a suite by its name: `make study-efficiency`, `make study-orders`
	@cargo xtask study which?

study-%: build
	@cargo xtask study $*

site: build ## static pages of results/: all rankings, each service over all rankings, badges and a feed, in target/site
	@rm -rf target/site
	@target/release/prony report --site target/site --from results

pictures: site ## the pictures of the documents, from the pages of results/
	@scripts/setup chromium=chromium
	@cd web && npm ci --no-audit --no-fund --silent && npm run --silent pictures

bench-drafts: build ## measure drafts from descriptions of 100, 1,000 and 5,000 operations (a minute)
	@cargo xtask bench-drafts

bench-engine: build ## compare prony with wrk, h2load, ghz and a client in Python on the same servers
	@cargo xtask bench-engine

bench-store: build ## measure size and speed of a generated store of 1,000 runs (some minutes)
	@cargo xtask bench-store

# Develop

ready: fmt lint ## the quick part of `make test`, for before each commit
	cargo test --locked --workspace --lib --bins

fmt:
	cargo fmt --all --check

lint:
	cargo clippy --locked --workspace --all-targets -- -D warnings

test: setup ## what CI runs for each change: format, lints, tests, and the services that it may have broken
	@cargo xtask test $(STEPS)

test-all: setup ## everything: all variants of all services, studies, containers, hosts, a cluster, packages (hours; as root)
	@cargo xtask test-all $(STEPS)

test-services: build ## verify services that have no valid entry in services/verified, and write their entries; SERVICES="go-chi …" selects them
	@cargo xtask services --update $(SERVICES)

test-kubernetes: setup ## runs and faults on a real cluster: that of KUBECONFIG, else one that is started here (as root)
	@cargo xtask kubernetes

dist: ## the release files: a static program with manual, completions and licences, as tar.gz and as Debian package
	@cargo xtask dist

test-dist: dist ## test them in bare systems: Debian 11 to 13, Alpine, and one with nothing else (as root)
	@scripts/test-dist

fuzz: setup ## a minute of fuzzing for each parser
	scripts/fuzz

clean: ## delete everything built (the store with its runs is kept)
	cargo clean
	rm -rf .prony/build .prony/revisions .prony/cache .prony/log
