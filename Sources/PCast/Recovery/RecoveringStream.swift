import PCastCore
import PCastIO
import Synchronization

/// A stream that is had again when it ends, as a ``RecoveryPolicy`` says (Phenix: the Express layer's retries). It goes on
/// for as long as it is held, until it is stopped or its end is final.
public final class RecoveringStream<Stream: RecoverableStream>: Sendable {
    /// The stream that runs; nil while another attempt is made, while the application is asked, and at the end.
    public let current: ObservableValue<Stream?>

    /// What the application is asked; nil while it is asked nothing.
    public let offer = ObservableValue<RetryOffer?>(nil) { $0 === $1 }

    /// How it ended at last; nil while it goes on or may do so again.
    public let observableEndedInfo = ObservableValue<StreamEndedInfo?>(nil)

    private let policy: RecoveryPolicy
    private let isStopped = Promise<Bool>()
    private let over = Promise<StreamEndedInfo>()
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// - Parameters:
    ///   - isOnline: returns when the platform can be asked, or after the time given.
    ///   - again: has the stream anew.
    init(
        _ first: Stream, policy: RecoveryPolicy, isOnline: @escaping @Sendable (TimeSpan) async -> Void,
        again: @escaping @Sendable () async throws(PCastError) -> Stream
    ) {
        self.policy = policy
        current = ObservableValue(first) { $0 === $1 }
        let recovery = StreamRecovery(
            policy: policy, current: current, offer: offer, isStopped: isStopped, isOnline: isOnline, again: again)
        let (over, ended) = (over, observableEndedInfo)
        let task = Task {
            let info = await recovery.run(first)
            ended.set(info)
            over.resolve(info)
        }
        self.task.withLock { $0 = task }
    }

    deinit { stop() }

    /// Ends the stream and all attempts; harmless when called again.
    public func stop() {
        isStopped.resolve(true)
        offer.value?.dismiss()
        current.value?.stop()
        task.withLock { $0?.cancel() }
    }

    /// Returns when the end is final.
    public var ended: StreamEndedInfo { get async { await over.settled } }
}
