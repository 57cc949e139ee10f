import PCastCore
import PCastIO
import Synchronization

/// A stream that is set up again after its end, as a ``RecoveryPolicy`` specifies (Phenix: the retries of PCastExpress). It
/// lasts while it is held, until it is stopped or its end is final.
public final class RecoveringStream<Stream: RecoverableStream>: Sendable {
    /// The running stream; nil during another attempt, during an offer to the application, and after the end.
    public let current: ObservableValue<Stream?>

    /// The offer to the application to retry; nil if there is none.
    public let offer = ObservableValue<RetryOffer?>(nil) { $0 === $1 }

    /// The cause of the final end; nil before it.
    public let observableEndedInfo = ObservableValue<StreamEndedInfo?>(nil)

    private let policy: RecoveryPolicy
    private let isStopped = Promise<Bool>()
    private let finalEnd = Promise<StreamEndedInfo>()
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// Creates the stream after the first attempt succeeded.
    ///
    /// - Parameters:
    ///   - first: The stream of the first attempt.
    ///   - policy: The actions after an end or a refusal.
    ///   - isOnline: A function that returns when the session is online, or after the given time.
    ///   - retry: A function that makes another attempt. It throws an error if the attempt fails.
    init(
        _ first: Stream, policy: RecoveryPolicy, isOnline: @escaping @Sendable (Duration) async -> Void,
        retry: @escaping @Sendable () async throws(PCastError) -> Stream
    ) {
        self.policy = policy
        current = ObservableValue(first) { $0 === $1 }
        let recovery = StreamRecovery(
            policy: policy, current: current, offer: offer, isStopped: isStopped, isOnline: isOnline, retry: retry)
        let (finalEnd, ended) = (finalEnd, observableEndedInfo)
        let task = Task {
            let info = await recovery.run(first)
            ended.set(info)
            finalEnd.resolve(info)
        }
        self.task.withLock { $0 = task }
    }

    deinit { stop() }

    /// Ends the stream and all attempts. It has no effect when it is called again.
    public func stop() {
        isStopped.resolve(true)
        offer.value?.dismiss()
        current.value?.stop()
        task.withLock { $0?.cancel() }
    }

    /// The cause of the final end; waits until the end is final.
    public var ended: StreamEndedInfo { get async { await finalEnd.settled } }
}

/// A stream that can be set up again after it has ended: a ``Publisher`` or a subscribed ``MediaStream``.
public protocol RecoverableStream: AnyObject, Sendable {
    /// The cause of the end; waits until the stream has ended.
    var ended: StreamEndedInfo { get async }
    /// The cause of the end; nil before the stream has ended.
    var endedInfo: StreamEndedInfo? { get }
    /// Ends the stream on behalf of this program.
    func stop()
}

extension Publisher: RecoverableStream {
    /// Stops publishing with the reason `ended`.
    public func stop() { stop(reason: StreamEndedReason.ended.rawValue) }
}

extension MediaStream: RecoverableStream {}

/// The task of a ``RecoveringStream``: successive streams, until the policy says that an end is final.
struct StreamRecovery<Stream: RecoverableStream>: Sendable {
    let policy: RecoveryPolicy
    let current: ObservableValue<Stream?>
    let offer: ObservableValue<RetryOffer?>
    let isStopped: Promise<Bool>
    let isOnline: @Sendable (Duration) async -> Void
    let retry: @Sendable () async throws(PCastError) -> Stream

    /// Waits for the ends of the streams and returns the last one. The task is cancelled when the stream is stopped.
    func run(_ first: Stream) async -> StreamEndedInfo {
        var stream = first
        var failures = 0
        while true {
            let began = MonotonicClock.now()
            let info = await stream.ended
            current.set(nil)
            if began.duration(to: MonotonicClock.now()) >= policy.minimumDuration { failures = 0 }
            switch isStopped.value == true ? .report : policy.action(after: info) {
            case .report: return info
            case .offer:
                guard await isRetryAccepted(info) else { return info }
                failures = 0
            case .retry(let pause):
                // A stream that ends repeatedly is not retried without a delay.
                await wait(max(pause, RecoveryPolicy.delay(before: failures)))
            }
            guard let next = await attempt(&failures) else { return info }
            stream = next
        }
    }

    /// Offers a retry to the application, and returns whether it accepts.
    private func isRetryAccepted(_ info: StreamEndedInfo) async -> Bool {
        let retryOffer = RetryOffer(after: info)
        offer.set(retryOffer)
        // A concurrent stop may have looked for an offer before this one was set.
        if isStopped.value == true { retryOffer.dismiss() }
        let answer = await retryOffer.answer.settled
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
                    began.duration(to: MonotonicClock.now()) < policy.timeout
                else { return nil }
                if error.status == .notReady { await isOnline(pause) } else { await wait(pause) }
            }
        }
        return nil
    }

    private func wait(_ duration: Duration) async { try? await Task.sleep(for: duration) }
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
