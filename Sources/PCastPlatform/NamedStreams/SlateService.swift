import PCastCore
import PCastIO
import PCastSFU
import Synchronization

/// The video of a slate, which is played in a loop.
struct Slate: Sendable {
    /// The codec of the frames.
    let codec: Codec
    /// The frames at ``SlateService/frameRate``. The first one is a key frame.
    let frames: [EncodedFrame]
}

/// Makes the slates of named streams: the last frame, dimmed, with a text. A separate process decodes and encodes, because
/// the platform does not process video of publishers itself. It runs once for each gap, and its frames are played in a loop,
/// so that a slate that is shown needs no process and no encoder.
final class SlateService: Sendable {
    /// The frames per second of a slate. A frame is not longer than the shortest part of HLS.
    static let frameRate = 10
    /// The number of frames of a slate, which last two seconds. New viewers wait no longer for a key frame.
    static let frameCount = 20
    /// The maximum number of slates that are shown at the same time.
    static let maximumCount = 64
    /// The maximum size of the last frames of a stream that are passed on, in bytes.
    static let maximumSourceSize = 4 << 20
    /// The size of a slate of a video whose size is unknown.
    private static let usualSize = Dimensions(width: 1_280, height: 720)
    /// The maximum size of a slate's frames in bytes.
    private static let outputLimit = 8 << 20
    /// The maximum number of processes at the same time.
    static let processLimit = 2

    private let configuration: SlateConfiguration
    private let timeout: Duration
    private let processCount = Mutex(0)

    /// Creates the service. A process that runs longer than `timeout` is killed.
    init(_ configuration: SlateConfiguration, timeout: Duration = .seconds(20)) {
        (self.configuration, self.timeout) = (configuration, timeout)
    }

    /// Returns a slate.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - last: The last frames of the stream.
    /// - Returns: The slate.
    /// - Throws: ``APIError`` if it cannot be made, or too many are being made.
    func slate(_ text: String, over last: LastFrames) async throws(APIError) -> Slate {
        let isPermitted = processCount.withLock { count in
            guard count < Self.processLimit else { return false }
            count += 1
            return true
        }
        guard isPermitted else { throw APIError(.capacity, "Too many slates are being made: retry in a second.") }
        defer { processCount.withLock { $0 -= 1 } }
        let size = last.dimensions ?? Self.usualSize
        let process = ConvertingProcess(
            configuration.program,
            configuration.arguments + [
                "--text=\(text)", "--width=\(size.width)", "--height=\(size.height)", "--rate=\(Self.frameRate)",
                "--frames=\(Self.frameCount)",
            ], environment: JobEnvironment.make(), outputLimit: Self.outputLimit, timeout: timeout)
        guard let output = await process.convert(Self.input(last)),
            let slate = Self.slate(output, codec: Rendition.codec(of: last.codec))
        else { throw APIError(.failed, "The slate could not be made: its process has failed.") }
        return slate
    }

    /// Returns the messages for the process.
    private static func input(_ last: LastFrames) -> [UInt8] {
        var bytes = RenditionMessage.targets(last.codec, []).encoded
        for frame in last.frames where frame.bytes.count < RenditionMessage.maximumSize / 2 {
            bytes +=
                RenditionMessage.frame(
                    .init(
                        layer: 0, isKeyFrame: frame.isKeyFrame, timestamp: frame.timestamp.ticks,
                        captureTime: WallTime(nanosecondsSinceEpoch: 0), bytes: frame.bytes)
                ).encoded
        }
        return bytes
    }

    /// Returns the slate in the messages of a process; nil if they are something else. The process has decoded untrusted
    /// video.
    static func slate(_ output: [UInt8], codec: Codec) -> Slate? {
        var reader = RenditionMessageReader()
        output.withUnsafeBytes { reader.append($0) }
        var frames: [EncodedFrame] = []
        do {
            while let message = try reader.next() {
                guard case .frame(let frame) = message, frames.count < frameCount else { return nil }
                frames.append(
                    EncodedFrame(
                        codec: codec, bytes: frame.bytes, isKeyFrame: frame.isKeyFrame,
                        timestamp: MediaTime(ticks: 0, rate: .video), captureTime: nil))
            }
        } catch {
            return nil
        }
        guard reader.pendingCount == 0, frames.first?.isKeyFrame == true else { return nil }
        return Slate(codec: codec, frames: frames)
    }
}

/// The program that makes the slates of named streams. It reads the last frames of a stream, and writes the frames of the slate.
public struct SlateConfiguration: Hashable, Sendable {
    /// The path of the program.
    public var program: String
    /// The arguments of the program, `make-slate` for `pcast`.
    public var arguments: [String]

    /// Creates a configuration.
    public init(program: String, arguments: [String]) {
        self.program = program
        self.arguments = arguments
    }
}

/// Plays a slate in a loop, with silence, as a publisher of this process.
struct SlatePlayer {
    /// The duration of a packet of audio.
    static let audioTime = TimeSpan.milliseconds(20)
    /// A packet of silence: one channel of 20 ms (RFC 6716, section 3.1).
    static let silence: [UInt8] = [0xF8, 0xFF, 0xFE]
    /// The number of audio packets for each frame.
    static let audioPerFrame = Int64(50 / SlateService.frameRate)
    /// The number of packets that are sent at once after a delay. If more are due, they are left out.
    static let maximumBurst: Int64 = 25

    private let slate: Slate
    private let hasAudio: Bool
    private let began: WallTime
    /// The number of the next packet of audio.
    private var next: Int64 = 0
    /// The number of the frame of video with which the loop began.
    private var first: Int64 = 0

    /// Creates a player.
    ///
    /// - Parameters:
    ///   - slate: The slate.
    ///   - hasAudio: Whether silence is played.
    ///   - began: The time of capture of the first frame.
    init(_ slate: Slate, hasAudio: Bool, from began: WallTime) {
        (self.slate, self.hasAudio, self.began) = (slate, hasAudio, began)
    }

    /// Returns what is due after a time since the beginning. After a long delay, it continues with the first frame.
    mutating func poll(at time: TimeSpan) -> [IngestFeed.Frame] {
        let due = time.nanoseconds / Self.audioTime.nanoseconds
        if due - next >= Self.maximumBurst {
            first = due / Self.audioPerFrame + 1
            next = first * Self.audioPerFrame
        }
        var frames: [IngestFeed.Frame] = []
        while next <= due {
            let captureTime = began + Self.audioTime * next
            if next % Self.audioPerFrame == 0 {
                frames.append(video(next / Self.audioPerFrame, captureTime))
            }
            if hasAudio {
                frames.append(
                    IngestFeed.Frame(
                        frame: EncodedFrame(
                            codec: .opus, bytes: Self.silence, isKeyFrame: true,
                            timestamp: MediaTime(ticks: next * 960, rate: .opus), captureTime: captureTime),
                        layer: 0))
            }
            next += 1
        }
        return frames
    }

    private func video(_ number: Int64, _ captureTime: WallTime) -> IngestFeed.Frame {
        var frame = slate.frames[Int((number - first) % Int64(slate.frames.count))]
        frame.timestamp = MediaTime(ticks: number * 90_000 / Int64(SlateService.frameRate), rate: .video)
        frame.captureTime = captureTime
        return IngestFeed.Frame(frame: frame, layer: 0)
    }

    /// Plays until the task is cancelled.
    mutating func run(into feed: IngestFeed) async {
        let beginning = MonotonicClock.now()
        while !Task.isCancelled {
            feed.send(poll(at: MonotonicClock.now() - beginning))
            try? await Task.sleep(for: Self.audioTime.duration)
        }
    }
}
