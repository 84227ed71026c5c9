# Thin: the build is CMakeLists.txt, the tests are tools/run_tests.
# make, then make run; make quick while you work, make test before every commit.

NINJA = ninja $(NINJAFLAGS) -C
FUZZ_SECONDS ?= 60

.PHONY: all run test quick asan tsan crash sim schedules bench bench-peers lint fuzz clean help

all: ## release build, build/release/waybill
	@tools/setup build
	@cmake --preset release -Wno-dev >build/cmake.log || { cat build/cmake.log; exit 1; }
	@$(NINJA) build/release waybill

run: all ## the demo: a node, mock receivers, live traffic; says what to try
	@tools/setup run
	@exec build/release/waybill demo

test: ## every suite; ends with "N passed, N failed"
	@tools/setup test
	@tools/run_tests

quick: ## under 3 minutes: structure, unit, store on SQLite, a smoke of each black-box file
	@tools/setup test
	@tools/run_tests --quick

asan: ## unit, store and black-box tests with the address and UB sanitizers
	@tools/setup test
	@tools/run_tests --build asan unit store blackbox

tsan: ## the same with the thread sanitizer
	@tools/setup test
	@tools/run_tests --build tsan unit store blackbox

crash: ## kill and power-cut runs at full length (root)
	@tools/setup test
	@tools/run_tests --build-only release debug
	@tests/crash/run --full

sim: ## the rules in a simulated world: 10 000 seeds, then the planted bugs
	@tools/setup test
	@tools/run_tests --build-only debug
	@build/debug/sim --all 10000

schedules: ## 300 schedules in each of six zones, over three years, against an oracle
	@tools/setup test
	@tools/run_tests --build-only release
	@WAYBILL_SCHEDULES=all WAYBILL_BIN=$(CURDIR)/build/release/waybill python3 -m pytest tests/blackbox/test_75_jobs_next.py -q \
		-p no:cacheprovider -k oracle

bench: ## throughput against the raw machine, fairness, burden
	@tools/setup test
	@tools/run_tests --build-only release
	@tests/bench/run

bench-peers: ## the same road through Node-RED (npm)
	@tools/setup peers
	@tools/run_tests --build-only release
	@tests/bench/peers.py

lint: ## format, structure, cppcheck if it is installed
	@tools/setup test
	@tools/lint

fuzz: ## every tests/fuzz/fuzz_*.c for FUZZ_SECONDS each
	@tools/setup fuzz
	@tools/run_fuzz $(FUZZ_SECONDS)

clean: ## all but the unpacked dependencies
	@if [ -d build ]; then find build -mindepth 1 -maxdepth 1 ! -name deps ! -name console ! -name tests-console ! -name tests-formats -exec rm -rf {} +; fi

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 14
