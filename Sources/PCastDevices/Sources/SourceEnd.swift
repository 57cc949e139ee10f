/// The reason why a source ended without being stopped.
package enum SourceEnd: Hashable, Sendable {
    /// A file was played to its end, or the publisher ended the stream.
    case ended

    /// The device disappeared for this reason, and may come back.
    case vanished(String)

    /// The device or the connection failed, for this reason.
    case failed(String)
}
