import PCastMedia
import PCastSignaling

/// Who asks for a stream from or to an address, and for what.
struct WorkRequest: Sendable {
    let message: PCastCreateStream
    let grant: Grant
    let visitor: Visitor
    let session: SessionID

    /// The stream that is pushed; nil for one that is published.
    var origin: StreamID? {
        let named = message.hasOriginStreamID ? message.originStreamID : message.originStreamIds.first
        return named.map { StreamID($0) }
    }
}
