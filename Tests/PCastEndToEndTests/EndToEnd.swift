import Testing

/// Everything here runs real programs on one computer, and measures: one test at a time.
@Suite("End to end", .serialized, .keepsOutputOfFailures)
enum EndToEnd {}
