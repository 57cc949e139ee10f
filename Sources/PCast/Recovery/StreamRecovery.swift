import PCastCore
import PCastIO

/// The task of a ``RecoveringStream``: successive streams, until the policy says that an end is final.
struct StreamRecovery<Stream: RecoverableStream>: Sendable {
    let policy: RecoveryPolicy
    let current: ObservableValue<Stream?>
    let offer: ObservableValue<RetryOffer?>
    let isStopped: Promise<Bool>
    let isOnline: @Sendable (TimeSpan) async -> Void
    let retry: @Sendable () async throws(PCastError) -> Stream

    /// Waits for the ends of the streams and returns the last one. The task is cancelled when the stream is stopped.
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
                guard await isRetryAccepted(info) else { return info }
                failures = 0
            case .retry(let pause):
                // A stream that ends repeatedly is not retried without a delay.
                await wait(max(pause, RecoveryPolicy.pause(before: failures)))
            }
            guard let next = await attempt(&failures) else { return info }
            stream = next
        }
    }

    /// Offers a retry to the application, and returns whether it accepts.
    private func isRetryAccepted(_ info: StreamEndedInfo) async -> Bool {
        let question = RetryOffer(after: info)
        offer.set(question)
        // A concurrent stop may have looked for an offer before this one was set.
        if isStopped.value == true { question.dismiss() }
        let answer = await question.answer.settled
        offer.set(nil)
        return answer
    }

    /// Makes attempts until one succeeds; returns nil after giving up.
    private func attempt(_ failures: inout Int) async -> Stream? {
        let began = MonotonicClock.now()
        while isStopped.value != true {
            failures += 1
            do throws(PCastError) {
                let stream = try await retry()
                current.set(stream)
                // The stream may have been stopped during its setup.
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
