/// A program did not do what a test waits for.
struct EndToEndFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
