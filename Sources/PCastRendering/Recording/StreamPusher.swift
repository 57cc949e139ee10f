import PCastCodecs
package import PCastCore
import PCastIO
import Synchronization

/// Sends a stream to an address in real time: video without re-encoding, audio as AAC.
///
/// It starts with the first key frame. It has its own thread, so that a slow receiver does not block the caller.
package final class StreamPusher: Sendable {
    /// The state of the connection.
    package enum State: Hashable, Sendable {
        case connecting
        case running
        /// It failed, before or after it was connected.
        case failed(String, wasRunning: Bool)
        case finished
    }

    /// The size of the queue, several seconds of both tracks. If the receiver is slower, frames are dropped.
    private static let capacity = 512

    private let queue = FrameQueue<ArrivedFrame>(capacity: StreamPusher.capacity)
    private let push: MediaPush
    private let worker = Mutex<WorkerThread?>(nil)
    private let changed: @Sendable (State) -> Void

    /// Starts to send.
    ///
    /// - Parameters:
    ///   - uri: The address, including credentials.
    ///   - name: The address as it appears in errors.
    ///   - format: libavformat's name of the format: `flv`, `mpegts` or `rtsp`.
    ///   - tracks: The codecs of the stream. Video must be H.264.
    ///   - changed: A callback for each state, on the sending thread.
    /// - Throws: `CodecError` if the tracks cannot be sent, `IOError` if no thread can be created.
    package init(
        uri: String, name: String, format: String, tracks: [Codec], changed: @escaping @Sendable (State) -> Void
    ) throws {
        if let other = tracks.first(where: { $0.mediaType == .video && $0 != .h264 }) {
            throw CodecError.unsupported(
                "the stream's codec is \(other.rawValue), and only H.264 can be pushed: publish it with prefer-h264")
        }
        let hasVideo = tracks.contains(.h264)
        let audio = tracks.contains(.opus) ? try AudioTranscoder() : nil
        push = try MediaPush(
            uri: uri, name: name, format: format, hasVideo: hasVideo, audio: audio?.configuration)
        self.changed = changed
        let thread = try WorkerThread(name: "push") { [self] in send(audio, hasVideo: hasVideo) }
        worker.withLock { $0 = thread }
    }

    /// Adds the next frame of a track, in decoding order. It never blocks.
    package func push(_ frame: EncodedFrame, arrivedAt arrival: Instant) {
        queue.push(ArrivedFrame(frame: frame, arrival: arrival))
    }

    /// Sends the queued frames, closes the connection, and waits for that. It may be called repeatedly.
    package func finish() {
        queue.close()
        worker.withLock { $0 }?.join()
    }

    private func send(_ audio: AudioTranscoder?, hasVideo: Bool) {
        var captureTimes = CaptureTimeQueue()
        var timeline = RecordingTimeline(hasVideo: hasVideo)
        var isRunning = false
        func send(_ frames: [ArrivedFrame]) throws {
            for arrived in frames {
                guard let position = timeline.position(of: arrived.frame, arrivedAt: arrived.arrival) else { continue }
                if arrived.frame.codec == .opus {
                    for packet in audio?.transcode(arrived.frame, at: position) ?? [] {
                        try push.push(.audio(packet.bytes), at: packet.position)
                    }
                } else {
                    try push.push(.frame(arrived.frame), at: position)
                }
                if !isRunning, push.isOpen {
                    isRunning = true
                    changed(.running)
                }
            }
        }
        changed(.connecting)
        do {
            while let arrived = queue.pop() {
                // The codec of a stream changes with its publisher.
                if [.h264, .opus].contains(arrived.frame.codec) { try send(captureTimes.add(arrived)) }
            }
            try send(captureTimes.finish())
            push.finish()
            changed(.finished)
        } catch {
            queue.close()
            changed(.failed("\(error)", wasRunning: isRunning))
        }
    }
}

/// Transcodes Opus to AAC with contiguous timestamps. Gaps in the audio become silence.
final class AudioTranscoder: @unchecked Sendable {  // owned by one thread at a time
    private let decoder: OpusDecoder
    private let encoder: AACEncoder
    /// The position of the first sample, and the number of samples that were encoded.
    private var beginning: TimeSpan?
    private var count: Int64 = 0

    /// Shorter gaps are rounding. Gaps longer than a second are not filled.
    private static let tolerance = ClockRate.opus.ticks(in: .milliseconds(20))
    private static let maximumGap = ClockRate.opus.ticks(in: .seconds(1))

    init() throws(CodecError) {
        decoder = try OpusDecoder(channels: 2)
        encoder = try AACEncoder()
    }

    var configuration: [UInt8] { encoder.configuration }

    /// Transcodes a packet and returns AAC packets with their positions.
    func transcode(_ frame: EncodedFrame, at position: TimeSpan) -> [(bytes: [UInt8], position: TimeSpan)] {
        guard let audio = try? decoder.decode(frame) else { return [] }
        let start = beginning ?? position
        beginning = start
        let hole = ClockRate.opus.ticks(in: position - start) - count
        var samples = audio.samples
        if hole > Self.tolerance {
            samples = [Int16](repeating: 0, count: Int(min(hole, Self.maximumGap)) * 2) + samples
            if hole > Self.maximumGap { beginning = start + ClockRate.opus.span(ofTicks: hole - Self.maximumGap) }
        }
        count += Int64(samples.count / 2)
        let whole = AudioFrame(
            samples: samples, channels: 2, captureTime: nil, timestamp: audio.timestamp)
        let packets = (try? encoder.encode(whole)) ?? []
        return packets.map { ($0.bytes, (beginning ?? start) + ClockRate.opus.span(ofTicks: $0.sample)) }
    }
}
