import PCastCore
import PCastIO

/// The life of a ``RecoveringStream``: one stream after the other, until the policy says that an end is final.
struct StreamRecovery<Stream: RecoverableStream>: Sendable {
    let policy: RecoveryPolicy
    let current: ObservableValue<Stream?>
    let offer: ObservableValue<RetryOffer?>
    let isStopped: Promise<Bool>
    let isOnline: @Sendable (TimeSpan) async -> Void
    let again: @Sendable () async throws(PCastError) -> Stream

    /// Returns how the last one ended. The task is cancelled when it is stopped.
    func run(_ first: Stream) async -> StreamEndedInfo {
        var stream = first
        var failures = 0
        while true {
            let began = MonotonicClock.now()
            let info = await stream.ended
            current.set(nil)
            if MonotonicClock.now() - began >= policy.lasting { failures = 0 }
            switch isStopped.value == true ? .report : policy.action(after: info) {
            case .report: return info
            case .offer:
                guard await isTakenUp(info) else { return info }
                failures = 0
            case .retry(let pause):
                // One that ends again and again is not asked for without a pause.
                await wait(max(pause, RecoveryPolicy.pause(before: failures)))
            }
            guard let next = await attempt(&failures) else { return info }
            stream = next
        }
    }

    private func isTakenUp(_ info: StreamEndedInfo) async -> Bool {
        let question = RetryOffer(after: info)
        offer.set(question)
        // Whoever stops it has looked for a question before this one was put.
        if isStopped.value == true { question.dismiss() }
        let answer = await question.answer.settled
        offer.set(nil)
        return answer
    }

    /// Asks for the stream until it is there; nil when that is given up.
    private func attempt(_ failures: inout Int) async -> Stream? {
        let began = MonotonicClock.now()
        while isStopped.value != true {
            failures += 1
            do throws(PCastError) {
                let stream = try await again()
                current.set(stream)
                // It was stopped while it was being set up.
                if isStopped.value == true { stream.stop() }
                return stream
            } catch {
                guard case .retry(let pause) = policy.action(afterRefusal: error.status, failures: failures),
                    MonotonicClock.now() - began < policy.timeout
                else { return nil }
                if error.status == .notReady { await isOnline(pause) } else { await wait(pause) }
            }
        }
        return nil
    }

    private func wait(_ span: TimeSpan) async { try? await Task.sleep(for: span.duration) }
}
