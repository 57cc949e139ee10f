import PCastWeb

/// Functions for the URI of a platform.
enum PlatformURI {
    /// Returns whether a URI has a loopback host.
    ///
    /// - Throws: ``CommandFailure`` with the status `unusableArguments` if the URI is invalid.
    static func isOnThisComputer(_ uri: String) throws(CommandFailure) -> Bool {
        do {
            return ListenArgument(host: try WebAddress(uri).host, port: 0).isLoopback
        } catch {
            throw CommandFailure(.unusableArguments, describing: error)
        }
    }
}
