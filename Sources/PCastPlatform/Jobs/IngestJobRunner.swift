import PCastCore

/// An ingest or egress job: a stream that a process publishes or subscribes to on behalf of a client. A token of the
/// platform represents it.
struct IngestJobRunner: Sendable {
    enum Purpose: Hashable, Sendable {
        case publish
        /// Subscribes to this stream and pushes it.
        case egress(StreamID)
    }

    /// The identifier of the stream, which the client receives.
    let stream: StreamID
    let purpose: Purpose
    let tags: [String]
    /// The session of the client.
    let session: SessionID?
    /// The address of the client, towards whose limits the stream counts.
    let address: IPAddress?
    /// Called once when the stream has ended.
    let ended: @Sendable (StreamEnd) async -> Void
}
