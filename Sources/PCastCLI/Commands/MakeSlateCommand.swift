import ArgumentParser
import Foundation
import Glibc
import PCastCodecs
import PCastCore
import PCastDevices
import PCastIO

/// The command `pcast make-slate`, which a platform starts when a named stream has no publisher any more.
struct MakeSlateCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "make-slate",
        abstract:
            "Make the video of a slate from the last frames of a stream for a platform, which starts this command.",
        discussion: """
            It reads messages with the codec and the frames from standard input until it is closed, and writes the \
            frames of the slate to standard output.
            """,
        shouldDisplay: false)

    @Option(help: "Text of the slate.")
    var text: String

    @Option(help: "Width of the slate without frames.")
    var width: Int

    @Option(help: "Height of the slate without frames.")
    var height: Int

    @Option(help: "Frames per second of the slate.")
    var rate: Int

    @Option(help: "Number of frames.")
    var frames: Int

    /// The processor time after which the kernel ends the process, in seconds.
    private static let processorTime: rlim_t = 20
    /// The maximum size of the data of the process, in bytes.
    private static let memory: rlim_t = 1 << 30
    /// The longest side of a slate without frames, in pixels.
    private static let longestSide = 3_840
    /// The niceness of the process. The threads that forward media have precedence.
    private static let niceness: Int32 = 5

    func validate() throws {
        guard width > 0, height > 0, (1...60).contains(rate), (1...600).contains(frames) else {
            throw ValidationError("--width and --height must be positive, --rate 1 to 60, and --frames 1 to 600.")
        }
    }

    func run() async throws {
        // The video comes from an untrusted client.
        Self.limit(RLIMIT_CPU, to: Self.processorTime)
        Self.limit(RLIMIT_DATA, to: Self.memory)
        _ = nice(Self.niceness)
        let (codec, source) = try Self.read(FileHandle.standardInput.readDataToEndOfFile())
        do {
            for frame in try slate(codec, source) {
                let message = RenditionMessage.frame(
                    .init(
                        layer: 0, isKeyFrame: frame.isKeyFrame, timestamp: frame.timestamp.ticks,
                        captureTime: WallTime(nanosecondsSinceEpoch: 0), bytes: frame.bytes))
                StandardOutput.write(message.encoded)
            }
        } catch {
            throw CommandFailure(.failed, describing: error)
        }
    }

    private static func limit(_ resource: __rlimit_resource, to value: rlim_t) {
        var limit = rlimit(rlim_cur: value, rlim_max: value)
        _ = setrlimit(__rlimit_resource_t(resource.rawValue), &limit)
    }

    /// Returns the codec and the frames of the messages. Throws `RenditionMessageReader.Malformed`.
    private static func read(_ input: Data) throws -> (Codec, [EncodedFrame]) {
        var reader = RenditionMessageReader()
        input.withUnsafeBytes { reader.append($0) }
        var codec = Codec.h264
        var frames: [EncodedFrame] = []
        while let message = try reader.next() {
            switch message {
            case .targets(let source, _): codec = source
            case .frame(let frame):
                frames.append(
                    EncodedFrame(
                        codec: codec, bytes: frame.bytes, isKeyFrame: frame.isKeyFrame,
                        timestamp: MediaTime(ticks: frame.timestamp, rate: .video), captureTime: nil))
            case .output, .keyFrames: break
            }
        }
        return (codec, frames)
    }

    /// Returns the frames of the slate, the first of which is a key frame. Throws a `CodecError` of the encoder.
    private func slate(_ codec: Codec, _ source: [EncodedFrame]) throws(CodecError) -> [EncodedFrame] {
        let size = Dimensions(width: min(width, Self.longestSide), height: min(height, Self.longestSide))
        let slate = SlatePainter.draw(text, over: Self.last(of: source, codec), dimensions: size)
        // Most of the bits are those of the key frame.
        let usual = Rendition.bitrate(of: slate.dimensions)
        let encoder = try VideoEncoders.open(
            .software, codec: Rendition.codec(of: codec), dimensions: slate.dimensions, frameRate: Double(rate),
            bitrate: .kilobits(usual.bitsPerSecond / 500), color: slate.color)
        var encoded: [EncodedFrame] = []
        for number in 0..<frames {
            let time = MediaTime(ticks: Int64(number) * 90_000 / Int64(rate), rate: .video)
            encoded += try encoder.encode(
                slate.retimed(captureTime: nil, timestamp: time), forceKeyFrame: number == 0)
        }
        return encoded
    }

    /// Returns the last image of frames; nil if none can be decoded.
    private static func last(of frames: [EncodedFrame], _ codec: Codec) -> VideoFrame? {
        guard let decoder = try? VideoDecoders.open(codec) else { return nil }
        var last: VideoFrame?
        for frame in frames {
            // The frames after a damaged one cannot be decoded.
            guard let images = try? decoder.decode(frame) else { break }
            last = images.last ?? last
        }
        return last
    }
}
