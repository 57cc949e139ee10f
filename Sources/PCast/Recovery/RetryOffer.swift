import PCastCore

/// An offer to the application to set up a stream that has ended again (Phenix: `PhenixOptionalAction`). The first
/// answer counts.
public final class RetryOffer: Sendable {
    /// The cause of the stream's end.
    public let info: StreamEndedInfo
    let answer = Promise<Bool>()

    init(after info: StreamEndedInfo) { self.info = info }

    /// Accepts the offer and sets up the stream again.
    public func perform() { answer.resolve(true) }

    /// Declines the offer. The end is final.
    public func dismiss() { answer.resolve(false) }
}
