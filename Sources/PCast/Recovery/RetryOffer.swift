import PCastMedia

/// The application is asked whether a stream that has ended shall be had again (Phenix: `PhenixOptionalAction`). The first
/// answer counts.
public final class RetryOffer: Sendable {
    /// How the stream ended.
    public let info: StreamEndedInfo
    let answer = Once<Bool>()

    init(after info: StreamEndedInfo) { self.info = info }

    /// Has it again.
    public func perform() { answer.settle(true) }

    /// Leaves it at that: the end is final.
    public func dismiss() { answer.settle(false) }
}
