/// The option of an answer that says why nothing was done.
private let reasonMark = "refused-because="
private let longestReason = 400

extension PCastSetRemoteDescriptionResponse {
    /// An answer that changes nothing.
    ///
    /// - Parameters:
    ///   - status: the word of the protocol.
    ///   - reason: in words for people.
    public init(refusal status: String, because reason: String) {
        self.init()
        self.status = status
        options = ["\(reasonMark)\(reason.prefix(longestReason))"]
    }
}

extension PCastSetupStreamResponse {

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
        createStreamResponse.options = ["\(reasonMark)\(reason.prefix(longestReason))"]
    }

    /// Why nothing was set up, in the platform's words; nil where it has none.
    public var refusalReason: String? {
        createStreamResponse.options.first { $0.hasPrefix(reasonMark) }
            .map { String($0.dropFirst(reasonMark.count).prefix(longestReason)) }
    }
}
