import Testing

extension EndToEnd {
    /// The platform part of the interface that PCast fulfils, a test for each of its sentences, named by it. The SDK
    /// runs in the tests' process, the platform in one of its own.
    @Suite("The interface's own sentences", .sharedPlatform)
    enum Seed {}
}
