import PCastMedia

/// A stream that a worker publishes or views for somebody else: what its credential stands for.
struct StreamWork: Sendable {
    enum Purpose: Hashable, Sendable {
        case publish
        /// Of this stream.
        case egress(StreamID)
    }

    /// As the client was told.
    let stream: StreamID
    let purpose: Purpose
    let tags: [String]
    /// The client's.
    let session: SessionID?
    /// Where whoever asked for it is, at whose address it counts; the worker itself is at none.
    let address: IPAddress?
    /// Is told once how the stream ended.
    let ended: @Sendable (StreamEnd) async -> Void
}
