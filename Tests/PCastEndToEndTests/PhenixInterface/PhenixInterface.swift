import Testing

extension EndToEnd {
    /// Tests of the Phenix interface that PCast implements. Each test is named by a sentence of its documentation. The
    /// SDK runs in the process of the tests, and the platform in its own.
    @Suite("The Phenix interface", .sharedPlatform)
    enum PhenixInterface {}
}
