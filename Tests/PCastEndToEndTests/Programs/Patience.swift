/// How long tests wait.
///
/// Waiting costs nothing where what is waited for comes, so that these are long enough for a machine that reads every
/// program from a slow disk, runs it at a third of the usual speed and stands still for a while. They are no claims
/// about how fast something is: those compare the times that the programs themselves tell.
extension Duration {
    /// For anything that a program does.
    static let timeout = Duration.seconds(90)

    /// For the end of a program that nobody has ended: it is killed then.
    static let longestRun = Duration.seconds(280)

    /// The same of a program that all tests of a suite share.
    static let longestSuite = Duration.seconds(3_600)
}
