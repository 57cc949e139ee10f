# Short names for developers. CI calls .ci/run.
.PHONY: run test check build lint format fuzz bench bench-quick pages

SWIFT_TEST = swift test -c release --skip-build -Xswiftc -enable-testing
SWIFT_BUILD = swift build -c release --build-tests -Xswiftc -enable-testing

run:            ## install the requirements, build, and publish the best camera or the test pattern
	scripts/run
test:           ## install the requirements and run all tests that are possible on this machine
	scripts/test
check: lint     ## before each commit: format, warnings as errors, fast tests
	$(SWIFT_BUILD)
	$(SWIFT_TEST) --skip EndToEnd --skip PCastPlaybackTests
	$(SWIFT_TEST) --filter PCastPlaybackTests --skip RealTimePlayback
build:
	$(SWIFT_BUILD)
lint:
	swift format lint --strict --parallel --recursive Sources Tests Examples Package.swift
format:
	swift format --in-place --parallel --recursive Sources Tests Examples Package.swift
fuzz:           ## make fuzz TARGET=stun [SECONDS=60]
	scripts/fuzz $(TARGET) $(SECONDS)
bench:          ## all measurements
	scripts/bench
bench-quick:    ## latency, start-up, joins and fan-out in 3 minutes, on an idle machine
	scripts/bench quick
