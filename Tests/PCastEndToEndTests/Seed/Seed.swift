import Testing

extension EndToEnd {
    /// The platform's part of the interface that PCast implements, with a test for each of its sentences, named by it.
    /// The SDK runs in the tests' process, the platform in its own.
    @Suite("The interface's own sentences", .sharedPlatform)
    enum Seed {}
}
