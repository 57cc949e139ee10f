import Testing

/// Tests that run real programs on one machine and measure them, one at a time.
@Suite("End to end", .serialized, .keepsOutputOfFailures)
enum EndToEnd {}

/// A program did not behave as a test expects.
struct EndToEndFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
