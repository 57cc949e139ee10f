/// The use of a section that a peer offers.
package struct AnswerOptions: Sendable {
    /// The wanted direction, from the local view. The answer is limited by the offer.
    package var direction: MediaDirection
    /// The only format to send, for a forwarded stream; nil for any codec.
    package var format: SourceFormat?
    /// The local source, which is needed to send; nil otherwise.
    package var source: OutgoingSource?

    /// Creates a use of a section.
    package init(direction: MediaDirection, format: SourceFormat? = nil, source: OutgoingSource? = nil) {
        self.direction = direction
        self.format = format
        self.source = source
    }

    /// Receiving only, as a server answers a publisher.
    package static let receive = AnswerOptions(direction: .receiveOnly)

    /// Returns the use of a section that only sends, as a server answers a viewer.
    package static func send(_ format: SourceFormat?, from source: OutgoingSource) -> AnswerOptions {
        AnswerOptions(direction: .sendOnly, format: format, source: source)
    }
}
