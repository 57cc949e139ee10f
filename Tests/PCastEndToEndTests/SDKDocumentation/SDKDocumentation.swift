import Testing

extension EndToEnd {
    /// Phenix's documentation of its SDK: each of its sentences that can be turned into a call is the name of a test
    /// (docs/migrate/phenix.md). The SDK runs in the tests' process, the platform in one of its own.
    @Suite("The SDK's documentation", .sharedPlatform)
    enum SDKDocumentation {}
}
