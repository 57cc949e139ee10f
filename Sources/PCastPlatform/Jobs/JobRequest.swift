import PCastCore
import PCastSignaling

/// A request of a client for an ingest or egress job.
struct JobRequest: Sendable {
    let message: PCastCreateStream
    let principal: Principal
    let clientContext: ClientContext
    let session: SessionID

    /// The stream to push; nil for an ingest job.
    var origin: StreamID? {
        let named = message.hasOriginStreamID ? message.originStreamID : message.originStreamIds.first
        return named.map { StreamID($0) }
    }
}
