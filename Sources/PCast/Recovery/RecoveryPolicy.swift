public import PCastCore

/// What is done when a stream has ended, or cannot be had: a value, without clock or chance. As it is made, it does what
/// Phenix' Express layer does (`reference/phenix.md` has its table; Web SDK, PCastExpress).
public struct RecoveryPolicy: Hashable, Sendable {
    public enum Action: Hashable, Sendable {
        /// It is final.
        case report
        /// Another attempt is made after that time, without asking.
        case retry(after: TimeSpan)
        /// The application is offered to try again, when it likes.
        case offer
    }

    /// What is done after each reason; the application is offered to try again after one that is not named.
    public var actions: [StreamEndedReason: Action]

    /// How long attempts in a row may fail before the end is final.
    public var timeout: TimeSpan

    /// A stream that has lasted so long was no failed attempt.
    public var lasting: TimeSpan

    public init(
        actions: [StreamEndedReason: Action] = RecoveryPolicy.express, timeout: TimeSpan = .seconds(180),
        lasting: TimeSpan = .seconds(10)
    ) {
        self.actions = actions
        self.timeout = timeout
        self.lasting = lasting
    }

    public static let express: [StreamEndedReason: Action] = [
        .ended: .report, .censored: .report, .custom: .report, .capacity: .retry(after: .milliseconds(1_000)),
        .failed: .retry(after: .zero), .maintenance: .retry(after: .zero), .overload: .retry(after: .zero),
        .appBackground: .offer, .pcastStop: .offer,
    ]

    /// The words of the wire that `failed` stands for and that are treated otherwise.
    private static let finer: [String: Action] = [
        "egress-failed": .retry(after: .milliseconds(1_000)), "egress-setup-failed": .report,
    ]

    /// What is done about an end.
    public func action(after info: StreamEndedInfo) -> Action {
        switch (info.ender, info.reason) {
        case (.stop, .appBackground): actions[.appBackground] ?? .offer
        // This program wanted it so, or has nothing more to publish.
        case (.stop, _), (.source, _): .report
        case (.platform, .failed), (.connection, .failed):
            Self.finer[info.reasonDescription] ?? actions[.failed] ?? .offer
        case (.platform, let reason), (.connection, let reason): actions[reason] ?? .offer
        }
    }

    /// What is done when an attempt is refused.
    ///
    /// - Parameter failures: how many attempts in a row have failed, this one included.
    public func action(afterRefusal status: RequestStatus, failures: Int) -> Action {
        switch status {
        case .ok, .unauthorized, .badRequest, .conflict, .notInitialized, .notStarted, .upgradeRequired: .report
        // While others try as well, the stream that is asked for may not be back yet.
        case .failed, .timeout, .capacity, .rateLimited, .notReady, .noStreamPlaying, .gone:
            .retry(after: Self.pause(before: failures))
        }
    }

    /// min(1000·n², 60000) ms, as for connections.
    public static func pause(before attempt: Int) -> TimeSpan {
        let count = Int64(min(max(attempt, 0), 100))
        return .milliseconds(min(1_000 * count * count, 60_000))
    }
}
