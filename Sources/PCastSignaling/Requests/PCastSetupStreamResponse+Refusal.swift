extension PCastSetupStreamResponse {
    private static let reasonMark = "refused-because="
    private static let longestReason = 400

    /// An answer that sets nothing up.
    ///
    /// The messages have no field for a reason, so that it is an option of the answer: who knows no such option passes
    /// it over, and has the status.
    ///
    /// - Parameters:
    ///   - status: the word of the protocol.
    ///   - reason: in words for people.
    public init(refusal status: String, because reason: String) {
        self.init()
        self.status = status
        createStreamResponse.status = status
        createStreamResponse.options = ["\(Self.reasonMark)\(reason.prefix(Self.longestReason))"]
    }

    /// Why nothing was set up, in the platform's words; nil where it has none.
    public var refusalReason: String? {
        createStreamResponse.options.first { $0.hasPrefix(Self.reasonMark) }
            .map { String($0.dropFirst(Self.reasonMark.count).prefix(Self.longestReason)) }
    }
}
