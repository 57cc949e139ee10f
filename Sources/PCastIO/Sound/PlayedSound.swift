public import PCastMedia
import Synchronization

/// What this process plays, for whoever has to take it out of what a microphone hears: the last seconds of all
/// loudspeakers, mixed to one channel at 48 kHz.
///
/// Every loudspeaker says what it plays and when it is to be heard; readers ask by time. A sample's place is its instant
/// in ticks of 48 kHz, so that neither side needs to know the other's buffers. All calls hold a lock for as long as
/// copying their samples takes.
public final class PlayedSound: Sendable {
    /// The sound of this process.
    public static let shared = PlayedSound()

    /// How long sound is kept, counted back from the last sample that is known, which may be yet to be heard.
    public static let length = ClockRate.opus.span(ofTicks: Int64(PlayedSoundRing.capacity))

    /// Silence after which nothing is playing any more.
    static let patience = TimeSpan.seconds(1)

    private let ring = Mutex(PlayedSoundRing())

    public init() {}

    /// Whether something that is no silence was to be heard within the second before `instant`.
    public func isPlaying(at instant: Instant) -> Bool {
        let end = Self.position(at: instant)
        let start = Self.position(at: instant - Self.patience)
        return ring.withLock { $0.hasSound(from: start, to: end) }
    }

    /// The samples from `instant` on, silence where nothing was played or where it is no longer known.
    public func read(from instant: Instant, count: Int) -> [Int16] {
        Array(unsafeUninitializedCapacity: count) { buffer, initialized in
            read(from: Self.position(at: instant), into: UnsafeMutableBufferPointer(rebasing: buffer[..<count]))
            initialized = count
        }
    }

    /// Fills `samples` with what is heard from `position` on, silence where nothing was played or where it is no longer
    /// known. Allocates nothing.
    public func read(from position: Int64, into samples: UnsafeMutableBufferPointer<Int16>) {
        ring.withLock { $0.read(from: position, into: samples) }
    }

    /// The place of the sample that is heard at `instant`: ticks of 48 kHz since the clock's origin.
    public static func position(at instant: Instant) -> Int64 {
        ClockRate.opus.ticks(in: TimeSpan(nanoseconds: instant.nanoseconds))
    }

    func mix(_ samples: UnsafeBufferPointer<Int16>, channels: Int, at position: Int64) {
        ring.withLock { $0.mix(samples, channels: channels, at: position) }
    }
}
