import PCastCodecs
import PCastIO
public import PCastMedia
import Synchronization

/// Sends a stream on to an address as it comes: its pictures as they are, its sound as AAC.
///
/// It begins with the first key frame. A thread of its own sends, so that a slow receiver holds nobody up.
public final class StreamPusher: Sendable {
    private struct Entry: Sendable {
        let frame: EncodedFrame
        let arrival: Instant
    }

    /// How it stands.
    public enum State: Hashable, Sendable {
        case connecting
        case running
        /// - Parameter wasRunning: it was connected before.
        case failed(String, wasRunning: Bool)
        case finished
    }

    /// Several seconds of both tracks; what a receiver is slower than that for is left out.
    private static let capacity = 512

    private let queue = FrameQueue<Entry>(capacity: StreamPusher.capacity)
    private let push: MediaPush
    private let worker = Mutex<WorkerThread?>(nil)
    private let changed: @Sendable (State) -> Void

    /// - Parameters:
    ///   - name: what the address is called in errors.
    ///   - format: libavformat's: `flv`, `mpegts` or `rtsp`.
    ///   - tracks: the stream's codecs; pictures are H.264.
    ///   - changed: is told each state, on the thread that sends.
    /// - Throws: for pictures that cannot be sent so, and when no thread can be had.
    public init(
        uri: String, name: String, format: String, tracks: [Codec], changed: @escaping @Sendable (State) -> Void
    ) throws {
        if let other = tracks.first(where: { $0.mediaType == .video && $0 != .h264 }) {
            throw CodecError.unsupported(
                "pictures are sent on as H.264, and the stream's are \(other.rawValue): publish it with prefer-h264")
        }
        let hasVideo = tracks.contains(.h264)
        let sound = tracks.contains(.opus) ? try SoundTranscoder() : nil
        push = try MediaPush(
            uri: uri, name: name, format: format, hasPictures: hasVideo, sound: sound?.configuration)
        self.changed = changed
        let thread = try WorkerThread(name: "push") { [self] in send(sound, hasVideo: hasVideo) }
        worker.withLock { $0 = thread }
    }

    /// Takes the next frame of a track, in decoding order; never blocks.
    public func push(_ frame: EncodedFrame, arrivedAt arrival: Instant) {
        queue.push(Entry(frame: frame, arrival: arrival))
    }

    /// Sends what waits, says goodbye, and waits for that. Harmless when called again.
    public func finish() {
        queue.close()
        worker.withLock { $0 }?.join()
    }

    private func send(_ sound: SoundTranscoder?, hasVideo: Bool) {
        var timeline = RecordingTimeline(hasVideo: hasVideo)
        var isRunning = false
        changed(.connecting)
        do {
            while let entry = queue.pop() {
                guard let position = timeline.position(of: entry.frame, arrivedAt: entry.arrival) else { continue }
                if entry.frame.codec == .opus {
                    for packet in sound?.transcode(entry.frame, at: position) ?? [] {
                        try push.push(.sound(packet.bytes), at: packet.position)
                    }
                } else {
                    try push.push(.picture(entry.frame), at: position)
                }
                if !isRunning, push.isOpen {
                    isRunning = true
                    changed(.running)
                }
            }
            push.finish()
            changed(.finished)
        } catch {
            queue.close()
            changed(.failed("\(error)", wasRunning: isRunning))
        }
    }
}
