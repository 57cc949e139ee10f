import Foundation
package import PCastCore
import PCastDatabase
import PCastPackaging

/// The description of a file in itself: the rendition whose parts it has. With it, a recording whose rows were lost is
/// complete.
///
/// It is the second box of a file after the initialization segment: a `uuid` box with JSON and a CRC-32.
package struct FileDescription: Hashable, Sendable, Codable {
    /// The stream of the recording.
    package var stream: String
    /// The application of the stream.
    package var application: String
    /// The number of the epoch.
    package var epoch: Int
    /// The name of the rendition.
    package var rendition: String
    /// The prefix of file names in URIs.
    package var instance: String
    /// The number of the initialization segment.
    package var initialization: Int
    /// The codec string.
    package var codec: String
    /// The width of the video in pixels; nil for audio.
    package var width: Int?
    /// The height of the video in pixels; nil for audio.
    package var height: Int?
    /// The frame rate; nil for audio, and if it was not known.
    package var frameRate: Double?
    /// The number of audio channels; nil for video.
    package var channels: Int?

    /// The type of the box, a random UUID.
    private static let type: [UInt8] = [
        0x41, 0x8E, 0xD5, 0x0A, 0x77, 0x2B, 0x4C, 0x19, 0x93, 0x6F, 0xE0, 0x58, 0x1D, 0xB4, 0xC2, 0x66,
    ]
    /// The bytes before the JSON.
    private static let head = 24
    /// The bytes after the JSON.
    private static let tail = 4
    private static let maximumSize = 64 << 10

    init(_ published: PublishedPart, of writer: RecordingIdentity) {
        stream = writer.stream.description
        application = writer.application.description
        epoch = writer.epoch
        instance = writer.instance
        rendition = published.rendition
        initialization = published.initialization
        codec = published.format.codecString
        width = published.format.dimensions?.width
        height = published.format.dimensions?.height
        frameRate = published.frameRate
        channels = published.format.channels
    }

    /// The row of the rendition. `frameRate` replaces that of the beginning of the file; nil if it is not known.
    func record(frameRate: Double? = nil) -> RecordedRendition {
        var dimensions: Dimensions?
        if let width, let height { dimensions = Dimensions(width: width, height: height) }
        return RecordedRendition(
            stream: StreamID(stream), epoch: epoch, name: rendition, instance: instance, codec: codec,
            dimensions: dimensions, frameRate: frameRate ?? self.frameRate, channels: channels)
    }

    /// The bytes of the box.
    var box: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let json = (try? encoder.encode(self)).map { Array($0) } ?? []
        return Self.bigEndian(UInt32(Self.head + json.count + Self.tail)) + Array("uuid".utf8) + Self.type + json
            + Self.bigEndian(Checksum.of(json))
    }

    /// Reads the box, which must be complete. Returns nil if it is another one, or was not written completely.
    init?(box: [UInt8]) {
        guard box.count >= Self.head + Self.tail, box.count <= Self.maximumSize,
            Array(box[4..<8]) == Array("uuid".utf8), Array(box[8..<Self.head]) == Self.type
        else { return nil }
        let json = Array(box[Self.head..<box.count - Self.tail])
        guard Self.bigEndian(Checksum.of(json)) == Array(box.suffix(Self.tail)),
            let read = try? JSONDecoder().decode(FileDescription.self, from: Data(json)),
            (0..<1 << 20).contains(read.epoch), (0..<1 << 20).contains(read.initialization)
        else { return nil }
        self = read
    }

    private static func bigEndian(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * $0)) }
    }
}

/// The fields that all files of an epoch have in common.
package struct RecordingIdentity: Hashable, Sendable {
    /// The stream.
    package var stream: StreamID
    /// The application of the stream.
    package var application: ApplicationID
    /// The number of the epoch.
    package var epoch: Int
    /// The prefix of file names in URIs, which is that of the packager.
    package var instance: String

    /// Creates an identity.
    package init(stream: StreamID, application: ApplicationID, epoch: Int, instance: String) {
        self.stream = stream
        self.application = application
        self.epoch = epoch
        self.instance = instance
    }
}
