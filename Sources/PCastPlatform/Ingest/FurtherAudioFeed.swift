import PCastCore
import PCastIO
import PCastSFU
import Synchronization

/// Passes the packets of the audio tracks of a publisher in this process, other than the default, to the packager. The SFU
/// does not have them. It never waits, and may be called on any thread.
///
/// The packets are on the capture clock, as those of the default track are. If the packager is too slow, they are dropped.
/// The size and the distance of packets bound the bit rate of a track to 5 Mbit/s, because the SFU does not measure it.
final class FurtherAudioFeed: Sendable {
    private let stream: StreamID
    private let feed: PublishedUnitFeed
    /// The timestamps of the last packets by the numbers of their tracks.
    private let timestamps = Mutex<[Int: Int64]>([:])

    /// The maximum size of a packet in bytes, which is that of the default track.
    private static let maximumSize = 1_200
    /// The shortest distance of packets in ticks: somewhat less than that of the shortest frames, of 2.5 ms.
    private static let shortestDistance: Int64 = 100

    init(_ stream: StreamID, _ feed: PublishedUnitFeed) {
        self.stream = stream
        self.feed = feed
    }

    /// Passes a packet of Opus of a track.
    func send(_ packet: EncodedFrame, track: Int) {
        guard packet.codec == .opus, (1...Self.maximumSize).contains(packet.bytes.count),
            let captureTime = packet.captureTime
        else { return }
        let timestamp = packet.timestamp.ticks
        let isLater = timestamps.withLock { timestamps in
            // The times of an encoder's tracks never go back.
            guard timestamps[track].map({ timestamp - $0 >= Self.shortestDistance }) ?? true else { return false }
            timestamps[track] = timestamp
            return true
        }
        guard isLater else { return }
        var unit = PublishedUnit(
            stream: stream, layer: nil, codec: .opus, bytes: packet.bytes, isKeyFrame: true,
            timestamp: timestamp, captureTime: captureTime)
        unit.audioTrack = track
        feed.deliver([unit], at: MonotonicClock.now())
    }
}
