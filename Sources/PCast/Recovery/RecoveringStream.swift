import PCastCore
import PCastIO
import Synchronization

/// A stream that is set up again after its end, as a ``RecoveryPolicy`` says (Phenix: the retries of PCastExpress). It
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
    private let over = Promise<StreamEndedInfo>()
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// Creates the stream after the first attempt succeeded.
    ///
    /// - Parameters:
    ///   - first: The stream of the first attempt.
    ///   - policy: The actions after an end or a refusal.
    ///   - isOnline: A function that returns when the session is online, or after the given time.
    ///   - retry: A function that makes another attempt. It throws an error if the attempt fails.
    init(
        _ first: Stream, policy: RecoveryPolicy, isOnline: @escaping @Sendable (TimeSpan) async -> Void,
        retry: @escaping @Sendable () async throws(PCastError) -> Stream
    ) {
        self.policy = policy
        current = ObservableValue(first) { $0 === $1 }
        let recovery = StreamRecovery(
            policy: policy, current: current, offer: offer, isStopped: isStopped, isOnline: isOnline, retry: retry)
        let (over, ended) = (over, observableEndedInfo)
        let task = Task {
            let info = await recovery.run(first)
            ended.set(info)
            over.resolve(info)
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
    public var ended: StreamEndedInfo { get async { await over.settled } }
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
