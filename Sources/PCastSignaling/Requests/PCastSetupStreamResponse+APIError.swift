package import PCastCore

// The prefix of the response's option that contains the reason of a refusal.
private let reasonMark = "refused-because="
// The maximum length of a reason in characters.
private let longestReason = 400

extension PCastSetRemoteDescriptionResponse {
    /// Creates a response that refuses the request. `status` is the status of the protocol, and `reason` is a text for
    /// people.
    package init(refusal status: String, because reason: String) {
        self.init()
        self.status = status
        options = ["\(reasonMark)\(reason.prefix(longestReason))"]
    }
}

extension PCastSendCaptionsResponse {
    /// Creates a response without a reason.
    package init(status: RequestStatus) {
        self.init()
        self.status = status.wire
    }

    /// Creates a response that refuses the request. `status` is the status of the protocol, and `reason` is a text for
    /// people.
    package init(refusal status: String, because reason: String) {
        self.init()
        self.status = status
        options = ["\(reasonMark)\(reason.prefix(longestReason))"]
    }

    /// The platform's reason for the refusal as a text for people; nil if there is none.
    package var refusalReason: String? { reason(in: options) }
}

extension PCastSetupStreamResponse {

    /// Creates a response that refuses the request. `status` is the status of the protocol, and `reason` is a text for
    /// people. The message has no field for a reason, so it is an option, which other clients ignore.
    package init(refusal status: String, because reason: String) {
        self.init()
        self.status = status
        createStreamResponse.status = status
        createStreamResponse.options = ["\(reasonMark)\(reason.prefix(longestReason))"]
    }

    /// The platform's reason for the refusal as a text for people; nil if there is none.
    package var refusalReason: String? { reason(in: createStreamResponse.options) }
}

/// Returns the reason of a refusal in the options of a response; nil if there is none.
private func reason(in options: [String]) -> String? {
    options.first { $0.hasPrefix(reasonMark) }
        .map { String($0.dropFirst(reasonMark.count).prefix(longestReason)) }
}
