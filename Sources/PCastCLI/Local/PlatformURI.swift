import PCastWeb

/// The address of a platform, as people give it.
enum PlatformURI {
    /// - Throws: `CommandFailure`, `unusableArguments` for what is no address.
    static func isOnThisComputer(_ uri: String) throws(CommandFailure) -> Bool {
        do {
            return ListenArgument(host: try WebAddress(uri).host, port: 0).isLoopback
        } catch {
            throw CommandFailure(.unusableArguments, describing: error)
        }
    }
}
