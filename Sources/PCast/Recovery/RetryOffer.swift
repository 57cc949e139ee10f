import PCastCore

/// The application is asked whether a stream that has ended shall be had again (Phenix: `PhenixOptionalAction`). The first
/// answer counts.
public final class RetryOffer: Sendable {
    /// How the stream ended.
    public let info: StreamEndedInfo
    let answer = Promise<Bool>()

    init(after info: StreamEndedInfo) { self.info = info }

    /// Has it again.
    public func perform() { answer.resolve(true) }

    /// Leaves it at that: the end is final.
    public func dismiss() { answer.resolve(false) }
}
