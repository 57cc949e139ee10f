import PCastCore

/// A stream that can be had again after it has ended: a ``Publisher`` or a subscribed ``MediaStream``.
public protocol RecoverableStream: AnyObject, Sendable {
    /// Returns when the stream has ended.
    var ended: StreamEndedInfo { get async }
    /// How the stream ended; nil while it goes on.
    var endedInfo: StreamEndedInfo? { get }
    /// Ends the stream, as asked by this program.
    func stop()
}

extension Publisher: RecoverableStream {
    public func stop() { stop(reason: StreamEndedReason.ended.rawValue) }
}

extension MediaStream: RecoverableStream {}
