# The names that people type; CI calls scripts/test.
.PHONY: run test check build lint format fuzz bench bench-quick pages

SWIFT_TEST = swift test -c release --skip-build -Xswiftc -enable-testing
SWIFT_BUILD = swift build -c release --build-tests -Xswiftc -enable-testing

run:            ## set up, build and publish the best camera, or the test picture
	scripts/run
test:           ## set up and run every test that this machine can run
	scripts/test
check: lint     ## before each commit: format, warnings as errors, fast tests
	$(SWIFT_BUILD)
	$(SWIFT_TEST) --skip EndToEnd --skip PCastPlaybackTests
	SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=6 $(SWIFT_TEST) --filter PCastPlaybackTests --skip Story
build:
	$(SWIFT_BUILD)
lint:
	swift format lint --strict --parallel --recursive Sources Tests Examples Package.swift
format:
	swift format --in-place --parallel --recursive Sources Tests Examples Package.swift
fuzz:           ## make fuzz TARGET=stun [SECONDS=60]
	scripts/fuzz $(TARGET) $(SECONDS)
bench:          ## the tables of measurements
	scripts/bench
bench-quick:    ## before an issue is closed: latency, start-up, joins and fan-out in 3 minutes, on a quiet machine
	scripts/bench quick
