import PCastCore
import PCastWebRTC
import Synchronization

/// Joins the media of successive connections to one timeline. Each connection begins its timestamps at a different
/// value, and renderers and recordings must not notice.
struct TimelineSplice {
    private struct Track {
        var offset: Int64 = 0
        var last: (ticks: Int64, arrival: Instant)?
        var isCut = false

        mutating func map(_ time: MediaTime, at now: Instant) -> MediaTime {
            if isCut, let last {
                offset = last.ticks + time.rate.ticks(in: max(now - last.arrival, .zero)) - time.ticks
            }
            isCut = false
            let placed = MediaTime(ticks: time.ticks + offset, rate: time.rate)
            last = (placed.ticks, now)
            return placed
        }
    }

    private var video = Track()
    private var audio = Track()

    /// Marks that the media from now on comes from another connection.
    mutating func cut() {
        video.isCut = true
        audio.isCut = true
    }

    /// Returns the media with its timestamp on the joined timeline.
    mutating func map(_ media: PeerConnection.Media, at now: Instant) -> PeerConnection.Media {
        guard case .frame(var frame, let arrival) = media else { return media }
        switch frame.codec.mediaType {
        case .video: frame.timestamp = video.map(frame.timestamp, at: now)
        case .audio: frame.timestamp = audio.map(frame.timestamp, at: now)
        }
        return .frame(frame, arrival: arrival)
    }
}

/// A splice that the loop's thread uses and that other threads cut.
final class SharedSplice: Sendable {
    private let splice: Mutex<TimelineSplice>

    init(_ splice: TimelineSplice) { self.splice = Mutex(splice) }

    func withLock<Value>(_ body: (inout TimelineSplice) -> Value) -> Value { splice.withLock { body(&$0) } }
}
