import PCast
import PCastCore
import PCastJSON

/// Streams that are retried when they end, while the run continues.
extension ClientRun {
    /// Returns the policy for a run in which no user can be asked. If `noReconnect` is true, each end of the stream
    /// ends the run.
    static func policy(noReconnect: Bool) -> RecoveryPolicy {
        var policy = RecoveryPolicy()
        for reason in StreamEndedReason.allCases {
            let action = policy.actions[reason] ?? .offer
            if noReconnect || action == .offer { policy.actions[reason] = .report }
        }
        return policy
    }

    /// Calls `attend` for one stream after the other until the task is cancelled. The task of `attend` is cancelled
    /// when its stream has ended. The end of the last stream ends the run.
    func follow<Stream: RecoverableStream>(
        _ recovering: RecoveringStream<Stream>, as policy: RecoveryPolicy,
        _ attend: @escaping @Sendable (Stream) async -> Void
    ) async {
        let end = end
        Task { end.end(.stream(await recovering.ended)) }
        var attending: Task<Void, Never>?
        var last: Stream?
        for await stream in recovering.current.values {
            attending?.cancel()
            if let stream {
                last = stream
                attending = Task { await attend(stream) }
            } else if let info = last?.endedInfo, case .retry = policy.action(after: info) {
                reportRetry(info)
            }
        }
        attending?.cancel()
        await attending?.value
    }

    private func reportRetry(_ info: StreamEndedInfo) {
        console.event(
            "retrying",
            ["reason": .string(info.reason.rawValue), "description": .string(info.reasonDescription)])
        console.warn("The stream ended (\(info.reason.rawValue)). Retrying.")
    }
}
