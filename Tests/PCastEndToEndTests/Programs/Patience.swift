/// The timeouts of tests.
///
/// Waiting costs nothing if the awaited event occurs. The timeouts suffice for a slow and busy machine. They are not
/// limits of performance, which tests calculate from the times that programs report.
extension Duration {
    /// The timeout for anything that a program does.
    static let timeout = Duration.seconds(90)

    /// The time after which a program that nobody ended is killed.
    static let longestRun = Duration.seconds(280)

    /// The same time for a program that all tests of a suite share.
    static let longestSuite = Duration.seconds(3_600)
}
