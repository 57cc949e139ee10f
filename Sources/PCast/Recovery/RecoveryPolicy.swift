public import PCastCore

/// The actions after a stream has ended, or after an attempt was refused. The policy is a value without a clock or
/// randomness. The default does what Phenix's Web SDK does in PCastExpress.
public struct RecoveryPolicy: Hashable, Sendable {
    /// The action after an end or a refusal.
    public enum Action: Hashable, Sendable {
        /// The end is final.
        case report
        /// Another attempt follows after that time.
        case retry(after: Duration)
        /// The application receives an offer to retry at any time.
        case offer
    }

    /// The action after each reason. After a reason that is missing, the application receives an offer to retry.
    public var actions: [StreamEndedReason: Action]

    /// The time for which consecutive attempts may fail before the end is final.
    public var timeout: Duration

    /// The minimum duration of a stream that counts as a successful attempt.
    public var minimumDuration: Duration

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - actions: The action after each reason.
    ///   - timeout: The time for which consecutive attempts may fail before the end is final.
    ///   - minimumDuration: The minimum duration of a stream that counts as a successful attempt.
    public init(
        actions: [StreamEndedReason: Action] = RecoveryPolicy.express, timeout: Duration = .seconds(180),
        minimumDuration: Duration = .seconds(10)
    ) {
        self.actions = actions
        self.timeout = timeout
        self.minimumDuration = minimumDuration
    }

    /// The actions of Phenix's PCastExpress.
    public static let express: [StreamEndedReason: Action] = [
        .ended: .report, .censored: .report, .custom: .report, .capacity: .retry(after: .milliseconds(1_000)),
        .failed: .retry(after: .zero), .maintenance: .retry(after: .zero), .overload: .retry(after: .zero),
        .appBackground: .offer, .pcastStop: .offer,
    ]

    /// The reason strings of the protocol that map to `failed` but have their own actions.
    private static let finer: [String: Action] = [
        "egress-failed": .retry(after: .milliseconds(1_000)), "egress-setup-failed": .report,
    ]

    /// Returns the action after an end.
    public func action(after info: StreamEndedInfo) -> Action {
        switch (info.ender, info.reason) {
        case (.stop, .appBackground): actions[.appBackground] ?? .offer
        // This program has stopped the stream, or has no more media to publish.
        case (.stop, _), (.source, _): .report
        case (.platform, .failed), (.connection, .failed):
            Self.finer[info.reasonDescription] ?? actions[.failed] ?? .offer
        case (.platform, let reason), (.connection, let reason): actions[reason] ?? .offer
        }
    }

    /// Returns the action after an attempt was refused.
    ///
    /// - Parameters:
    ///   - status: The result of the attempt.
    ///   - failures: The number of consecutive failed attempts, including this one.
    /// - Returns: The action.
    public func action(afterRefusal status: RequestStatus, failures: Int) -> Action {
        switch status {
        case .ok, .unauthorized, .badRequest, .conflict, .notInitialized, .notStarted, .upgradeRequired: .report
        // Other clients may retry as well, so the requested stream may not be back yet.
        case .failed, .timeout, .capacity, .rateLimited, .notReady, .noStreamPlaying, .gone:
            .retry(after: Self.delay(before: failures))
        }
    }

    /// Returns the delay before an attempt, min(1000·n², 60000) ms. Connections have the same delays.
    public static func delay(before attempt: Int) -> Duration {
        let count = min(max(attempt, 0), 100)
        return .milliseconds(min(1_000 * count * count, 60_000))
    }
}
