import PCastCodecs
package import PCastCore
import PCastIO
import Synchronization

/// Records a stream without re-encoding to an MP4, Matroska or WebM file. The file extension selects the format.
///
/// The file starts with the first key frame. It has its own thread, so that a slow disk does not block the caller. While
/// the stream has another codec of video than the file, the file has audio only.
package final class FileRecorder: Sendable {
    private struct State {
        var worker: WorkerThread?
        var failure: String?
        var framesWritten = 0
    }

    /// The size of the queue, several seconds of both tracks. If the disk is slower, frames are dropped and counted.
    private static let capacity = 512

    private let queue = FrameQueue<ArrivedFrame>(capacity: FileRecorder.capacity)
    private let state = Mutex(State())

    /// Creates the file and the thread.
    ///
    /// - Parameters:
    ///   - path: The path of the file, which is replaced if it exists.
    ///   - name: The file name whose extension (`.mp4`, `.mkv` or `.webm`) selects the format; nil to use the path.
    ///   - tracks: The codecs to record, at most one of each media type.
    /// - Throws: `CodecError` if the file cannot be created, `IOError` if no thread can be created.
    package init(path: String, named name: String? = nil, tracks: [Codec]) throws {
        let writer = try MediaWriter(path: path, named: name, tracks: tracks)
        let hasVideo = tracks.contains { $0.mediaType == .video }
        let worker = try WorkerThread(name: "record") { [self] in
            write(to: writer, tracks: Set(tracks), hasVideo: hasVideo)
        }
        state.withLock { $0.worker = worker }
    }

    /// Adds the next frame of a track, in decoding order. It never blocks. The arrival time aligns the tracks while
    /// capture times are unknown.
    package func push(_ frame: EncodedFrame, arrivedAt arrival: Instant) {
        queue.push(ArrivedFrame(frame: frame, arrival: arrival))
    }

    /// The number of frames in the file.
    package var framesWritten: Int { state.withLock { $0.framesWritten } }

    /// The number of frames that were dropped because the disk was too slow.
    package var framesDropped: Int { queue.droppedCount }

    /// The reason why recording stopped; nil while it works.
    package var failure: String? { state.withLock { $0.failure } }

    /// Writes the queued frames and completes the file, which cannot be played otherwise.
    package func finish() {
        queue.close()
        state.withLock { $0.worker }?.join()
    }

    private func write(to writer: MediaWriter, tracks: Set<Codec>, hasVideo: Bool) {
        var captureTimes = CaptureTimeQueue()
        var timeline = RecordingTimeline(hasVideo: hasVideo)
        func write(_ frames: [ArrivedFrame]) throws {
            for arrived in frames {
                guard let position = timeline.position(of: arrived.frame, arrivedAt: arrived.arrival) else { continue }
                try writer.write(arrived.frame, at: position)
                state.withLock { $0.framesWritten += 1 }
            }
        }
        do {
            while let arrived = queue.pop() {
                if tracks.contains(arrived.frame.codec) { try write(captureTimes.add(arrived)) }
            }
            try write(captureTimes.finish())
            try writer.finish()
        } catch {
            queue.close()
            state.withLock { $0.failure = "\(error)" }
        }
    }
}

/// Computes the position of each frame in a recording. It reads no clock; the caller passes the time.
///
/// The timestamps of a track are even but start anywhere. The first frame of a track is placed by its capture time if
/// it is known for both tracks, otherwise by its arrival. The others follow by the track's timestamps.
struct RecordingTimeline {
    private struct Origin {
        var arrival: Instant
        var captureTime: WallTime?
    }

    private struct Track {
        /// The offset from the track's timestamps to positions.
        var shift: TimeSpan
        var last: TimeSpan?
    }

    /// Whether nothing is recorded before the first key frame.
    private let waitsForKeyFrame: Bool
    private var origin: Origin?
    private var tracks: [MediaType: Track] = [:]

    init(hasVideo: Bool) { waitsForKeyFrame = hasVideo }

    /// Returns the position of a frame since the start; nil if it precedes the start.
    mutating func position(of frame: EncodedFrame, arrivedAt now: Instant) -> TimeSpan? {
        let media = frame.codec.mediaType
        if origin == nil {
            guard !waitsForKeyFrame || media == .video && frame.isKeyFrame else { return nil }
            origin = Origin(arrival: now, captureTime: frame.captureTime)
        }
        var track = tracks[media] ?? Track(shift: start(of: frame, arrivedAt: now) - frame.timestamp.span)
        var position = frame.timestamp.span + track.shift
        guard position >= .zero else { return nil }
        // Positions in a file must increase.
        if let last = track.last { position = max(position, last + .milliseconds(1)) }
        track.last = position
        tracks[media] = track
        return position
    }

    private func start(of frame: EncodedFrame, arrivedAt now: Instant) -> TimeSpan {
        guard let origin else { return .zero }
        guard let capture = frame.captureTime, let first = origin.captureTime else { return now - origin.arrival }
        return capture - first
    }
}
