import ArgumentParser
import Foundation
import Glibc
import PCastCodecs
import PCastCore
import PCastIO

/// The command `pcast thumbnail`, which a platform starts to make a still image of a stream.
struct ThumbnailCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "thumbnail",
        abstract: "Convert an H.264 key frame to a JPEG image for a platform, which starts this command.",
        discussion: "It reads the key frame in Annex B format from standard input, and writes to standard output.",
        shouldDisplay: false)

    /// The maximum width of the image, in pixels.
    private static let width = 640
    /// The processor time after which the kernel ends the process, in seconds.
    private static let processorTime: rlim_t = 5
    /// The maximum size of the data of the process, in bytes. A frame of 8,192 by 8,192 pixels has 96 MiB.
    private static let memory: rlim_t = 1 << 30

    func run() async throws {
        Self.limit(RLIMIT_CPU, to: Self.processorTime)
        Self.limit(RLIMIT_DATA, to: Self.memory)
        let bytes = Array(FileHandle.standardInput.readDataToEndOfFile())
        do {
            StandardOutput.write(try Self.image(of: bytes))
        } catch {
            throw CommandFailure(.failed, describing: error)
        }
    }

    /// Limits a resource of this process, because the video comes from an untrusted client.
    private static func limit(_ resource: __rlimit_resource, to value: rlim_t) {
        var limit = rlimit(rlim_cur: value, rlim_max: value)
        _ = setrlimit(__rlimit_resource_t(resource.rawValue), &limit)
    }

    /// Returns the JPEG file of a key frame. Throws a `CodecError` if it cannot be decoded.
    static func image(of keyFrame: [UInt8]) throws(CodecError) -> [UInt8] {
        let encoded = EncodedFrame(
            codec: .h264, bytes: keyFrame, isKeyFrame: true, timestamp: MediaTime(ticks: 0, rate: .video),
            captureTime: nil)
        guard let frame = try H264Decoder().decode(encoded).first else {
            throw .damaged("standard input has no H.264 key frame")
        }
        return try StillImage.encode(FrameScaler().scale(frame, to: dimensions(of: frame.dimensions)), as: .jpeg)
    }

    /// Returns the dimensions of the image of a frame. Small frames are not enlarged.
    static func dimensions(of frame: Dimensions) -> Dimensions {
        guard frame.width > width else { return frame }
        return Dimensions(width: width, height: max((frame.height * width / frame.width) & ~1, 2))
    }
}
