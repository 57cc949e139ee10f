/// A program did not behave as a test expects.
struct EndToEndFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
