import PCastCore
import PCastIO

/// A job from its start until its process has ended.
struct JobProcess {
    let work: IngestJobRunner
    let credential: String
    let application: ApplicationID
    let isDetached: Bool
    var process: ChildProcess?
    /// The request that waits until the job has started.
    var startContinuation: CheckedContinuation<Bool, Never>?
    /// The result of the start, if it is known before the request waits.
    var answer: Bool?
    /// The end reason that the process reported.
    var reportedEnd: (reason: String, description: String)?
    /// Whether the process has ended.
    var hasExited = false
    /// Whether the client was notified of the end, or never received the identifier of the stream.
    var isOver = false

    /// Reports whether the job has started. Only the first call has an effect.
    mutating func reportStart(_ isRunning: Bool) {
        guard answer == nil else { return }
        answer = isRunning
        startContinuation?.resume(returning: isRunning)
        startContinuation = nil
    }
}

/// An ingest or egress job: a stream that a process publishes or subscribes to on behalf of a client. A token of the
/// platform represents it.
struct IngestJobRunner: Sendable {
    enum Purpose: Hashable, Sendable {
        case publish
        /// Subscribes to this stream and pushes it.
        case egress(StreamID)
    }

    /// The identifier of the stream, which the client receives.
    let stream: StreamID
    let purpose: Purpose
    let tags: [String]
    /// The session of the client.
    let session: SessionID?
    /// The address of the client, towards whose limits the stream counts.
    let address: IPAddress?
    /// Called once when the stream has ended.
    let ended: @Sendable (StreamEnd) async -> Void
}
