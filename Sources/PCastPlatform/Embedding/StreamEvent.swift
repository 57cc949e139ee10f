public import PCastCore
import Synchronization

/// A change of the streams of a platform, for the program that embeds it.
public enum StreamEvent: Hashable, Sendable {
    /// A publisher began a stream.
    case started(PlatformStream)
    /// The publisher of a stream reconnected. A stream of an earlier process begins with this event.
    case resumed(PlatformStream)
    /// The data quality of a publisher changed.
    case qualityChanged(StreamID, DataQuality)
    /// A stream ended. The description is the text of a custom reason.
    case ended(StreamID, StreamEndedReason, description: String)
    /// An event of a declared stream with its name, and the stream that viewers receive; nil while there is none.
    case named(String, StreamID?, NamedStreamEvent)
}

/// An event of a declared stream.
public enum NamedStreamEvent: Hashable, Sendable {
    /// Viewers can join.
    case ready
    /// The stream has ended, because it has neither media nor viewers.
    case ended
    /// Viewers wait for a source that is opened on demand.
    case demanded
    /// The media of another publisher are forwarded. The reason is a word, such as `silent`.
    case switched(reason: String)
}

/// A published stream of a platform.
public struct PlatformStream: Hashable, Sendable, Identifiable {
    /// The identifier, which viewers subscribe to.
    public let id: StreamID
    /// The application of the publisher.
    public let application: ApplicationID
    /// The publisher's session of the PCast protocol; nil for WHIP.
    public let session: SessionID?
    /// The tags, both those that the publisher requested and those of its token.
    public let tags: [String]
    /// The time at which the stream began.
    public let startTime: WallTime
    /// The current number of viewers.
    public let viewers: Int
    /// The data quality of the publisher.
    public let quality: DataQuality
}

/// The events of a platform for all their readers.
final class StreamEventHub: Sendable {
    private typealias Continuation = AsyncStream<StreamEvent>.Continuation

    private let state = Mutex<(readers: [Int: Continuation], next: Int)>(([:], 0))

    /// The maximum number of events that wait for a slow reader. Beyond it, the oldest are dropped.
    static let backlog = 1_024

    /// Returns the events from now on.
    func events() -> AsyncStream<StreamEvent> {
        let (events, continuation) = AsyncStream.makeStream(
            of: StreamEvent.self, bufferingPolicy: .bufferingNewest(Self.backlog))
        let number = state.withLock { state in
            defer { state.next += 1 }
            state.readers[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in self?.remove(number) }
        return events
    }

    private func remove(_ number: Int) { state.withLock { _ = $0.readers.removeValue(forKey: number) } }

    func yield(_ event: StreamEvent) {
        state.withLock { state in
            for reader in state.readers.values { reader.yield(event) }
        }
    }

    /// Ends the events of all readers, because the platform has stopped.
    func finish() {
        // A continuation that is finished removes itself, which needs the lock.
        let readers = state.withLock { state in
            defer { state.readers = [:] }
            return Array(state.readers.values)
        }
        for reader in readers { reader.finish() }
    }
}

/// The streams for the program that embeds the platform.
extension StreamDirectory {
    /// The streams that viewers can subscribe to, oldest first.
    var platformStreams: [PlatformStream] {
        registry.streams.values.filter(registry.isAvailable).sorted { $0.ordinal < $1.ordinal }.map(platformStream)
    }

    private func platformStream(_ stream: LiveStream) -> PlatformStream {
        PlatformStream(
            id: stream.id, application: stream.application, session: stream.session, tags: stream.tags,
            startTime: stream.startTime, viewers: registry.viewers(of: stream.id), quality: quality(of: stream) ?? .good
        )
    }

    /// Reports a stream that viewers can subscribe to now.
    func announce(_ id: StreamID, isResumed: Bool = false) {
        guard let stream = registry.streams[id], isResumed || !stream.isAnnounced else { return }
        registry.update(id) { $0.isAnnounced = true }
        let description = platformStream(stream)
        events.yield(isResumed ? .resumed(description) : .started(description))
    }
}
