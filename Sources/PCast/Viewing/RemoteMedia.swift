import PCastCore
import PCastIO
import Synchronization

/// The viewer's side of a stream: its call and the received media.
final class RemoteMedia: Sendable {
    let streamID: StreamID
    let call: MediaCall
    let feed: ReceivedMediaFeed
    let lifecycle: StreamLifecycle
    private let began = MonotonicClock.now()
    private let endedAt = Mutex<Instant?>(nil)

    init(streamID: StreamID, call: MediaCall, feed: ReceivedMediaFeed, lifecycle: StreamLifecycle) {
        self.streamID = streamID
        self.call = call
        self.feed = feed
        self.lifecycle = lifecycle
        lifecycle.whenEnded { [weak self] _ in
            self?.endedAt.withLock { $0 = MonotonicClock.now() }
            call.close()
        }
    }

    /// Returns the mean bit rate during the stream, in bits per second.
    func meanBitrate(of bytes: Int) -> Int {
        let span = (endedAt.withLock { $0 } ?? MonotonicClock.now()) - began
        return span > .zero ? Int(Double(bytes) * 8 / span.seconds) : 0
    }
}
