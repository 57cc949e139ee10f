import Testing

/// Tests that run real programs on one machine and measure them, one at a time.
@Suite("End to end", .serialized, .keepsOutputOfFailures)
enum EndToEnd {}
