import PCastCore

/// A stream that can be set up again after it has ended: a ``Publisher`` or a subscribed ``MediaStream``.
public protocol RecoverableStream: AnyObject, Sendable {
    /// The cause of the end; waits until the stream has ended.
    var ended: StreamEndedInfo { get async }
    /// The cause of the end; nil before the stream has ended.
    var endedInfo: StreamEndedInfo? { get }
    /// Ends the stream on behalf of this program.
    func stop()
}

extension Publisher: RecoverableStream {
    /// Stops publishing with the reason `ended`.
    public func stop() { stop(reason: StreamEndedReason.ended.rawValue) }
}

extension MediaStream: RecoverableStream {}
